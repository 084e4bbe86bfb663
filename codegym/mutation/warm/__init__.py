"""Trying edits of functions fast: one session a worker, a process forked for each edit."""

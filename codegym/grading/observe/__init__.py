"""Observation: what tests see leaves their process, and is judged outside."""

"""Grading: decides, in a sandbox the policy never touched, whether its work solves the task."""

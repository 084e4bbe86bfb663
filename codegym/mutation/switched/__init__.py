"""Many edits in one build: each function that is edited holds all its variants, and a switch.

What is tried this way is only looked at: it says which candidates are not worth a run of their own.
Every task is still made of runs on files that hold the one edit.
"""

from codegym.mutation.switched.looking import can_switch, look_at_all

__all__ = ["can_switch", "look_at_all"]

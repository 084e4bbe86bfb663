"""``codegym curriculum``: which tasks a learner is given, and why."""

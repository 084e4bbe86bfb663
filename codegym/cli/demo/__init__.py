"""``codegym demo``: the point of the project in half a minute."""

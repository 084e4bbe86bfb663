"""``codegym bench``: what the gym costs, and beside each figure its physical floor."""

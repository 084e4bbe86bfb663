"""Learning from episodes: supervised, by rewards, and by hints. Needs ``codegym[train]``.

episodes ─► sequences ─► batches ─► losses ─► learner ─► checkpoint; start at ``trainer``.
"""

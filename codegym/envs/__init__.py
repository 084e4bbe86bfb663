"""Episodes (``episode``), many at once (``rollouts``), and Gymnasium's faces over them.

Each is imported from its own module: only ``gym_env``, ``vector_env`` and ``spaces`` load Gymnasium.
"""

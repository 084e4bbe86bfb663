"""Episodes (``episode``), many at once (``rollouts``), and Gymnasium's faces over them.

Import from the modules: only ``gym_env``, ``vector_env`` and ``spaces`` load Gymnasium.
"""

"""Where code runs: the interface, its backends, and the images they start from."""

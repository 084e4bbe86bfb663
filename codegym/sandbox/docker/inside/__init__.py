"""What runs in containers: sent there as a zip, with the standard library only.

``boot`` is the first program of a sandbox's container: it makes way for the shell before anything
of a policy is there. ``serve`` is the keeper, in a container of its own: it holds the ends of every
shell's pipes, and lays, copies and reads files. Nothing of a policy runs where it is.
"""

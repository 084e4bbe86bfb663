"""Runs tests that are programs of their own, inside a sandbox, and reports each one once.

Payload: laid into sandboxes and never imported by the gym, so it needs nothing but the standard
library. Its process is not one of the tests': they get neither the report's descriptor nor a way to
this process's memory or descriptors (it is not dumpable). What they print is what is read of them,
and a claim: code under test can print what its test tool would.

The request is one JSON object on standard input: ``ids`` (empty for all), ``select``, ``deselect``,
``root``, ``channel``, ``build``, ``command``, ``reports``, and ``mark``, which each line of the
report begins with: no other process is told it.
"""

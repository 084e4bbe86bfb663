"""The attacks, a module for each group of them; ``catalogue`` imports all that lie here."""

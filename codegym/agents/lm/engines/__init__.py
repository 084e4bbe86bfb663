"""Engines: tokens in, tokens and log-probabilities out. Libraries are imported when used."""

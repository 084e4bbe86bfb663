"""Mutation: from a repository whose tests pass to tasks, each proved by running it."""

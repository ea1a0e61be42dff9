"""Fuzzing: variants of a database, with other rows under the same rules."""

"""Corpora: where questions and databases come from."""

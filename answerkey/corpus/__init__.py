"""Corpora: the sources of questions and databases."""

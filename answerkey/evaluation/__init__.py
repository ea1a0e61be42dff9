"""Evaluation: execute and count predictions, with only the standard library."""

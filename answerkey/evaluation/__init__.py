"""Evaluation: predictions are executed, and told in numbers, with the standard library alone."""

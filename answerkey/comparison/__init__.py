"""Comparison of questions: repeats, contradictions and leaks."""

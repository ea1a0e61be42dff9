"""Comparison: what questions share, such as repeats, contradictions and leaks."""

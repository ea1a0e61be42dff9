"""Probes: what may be wrong with a gold answer, and the evidence."""

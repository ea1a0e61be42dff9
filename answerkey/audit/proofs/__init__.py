"""Proofs: what text, schema and numbers show without an execution. `row_independence` proves that a
query need not be executed on reordered copies; `rounding` and `equal_values` prove what it needs.
"""

"""Operators: each makes queries that are one step away from gold, and mean something else."""

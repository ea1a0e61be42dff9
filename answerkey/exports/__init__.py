"""Exports: the product in the formats of others, and in numbers."""

"""Exports: the product in other formats, and its statistics."""

"""Validation: checks of the product and its sidecars."""

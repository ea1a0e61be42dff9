"""Predictions: executed in processes of their own, and compared with gold answers by rules."""

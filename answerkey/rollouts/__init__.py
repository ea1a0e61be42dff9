"""Rollouts: what models answered to questions, scored to pass rates."""

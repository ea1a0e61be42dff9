"""Alternatives: queries beside gold, each with a reason why it is meant, may be, or is not."""

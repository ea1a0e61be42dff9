"""What every stage needs, and nothing that changes with a feature."""

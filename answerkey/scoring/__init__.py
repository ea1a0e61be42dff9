"""The rules by which a prediction is compared with its gold answer, and what differs."""

"""English: what the words of a question say, by rules and small lexicons, without a model."""

"""Loading: a dataset from wherever it lies, with all that a reward needs."""

"""The order of rows: ties, cuts, sort keys, and the rows that a right answer may have."""

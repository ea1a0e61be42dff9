"""What the order of rows decides: ties, cuts, sort keys, and which rows a right answer may have."""

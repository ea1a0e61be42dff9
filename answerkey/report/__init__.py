"""The report: one page to look at a dataset with."""

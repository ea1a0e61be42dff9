"""The report: a page to look at a dataset."""

"""One file a family of operators: `operators/ranges.py` has `mutate_ranges`, which changes the tree
of a gold query, yields the operator's name while the change lasts, and takes it back. Whatever is
in this folder is asked about every query.
"""

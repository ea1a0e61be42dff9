"""Evaluation: predictions are executed on the databases of a dataset and on its test suites, and
told in numbers and on a page. All but the page needs the standard library alone.
"""

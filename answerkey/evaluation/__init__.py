"""Evaluation: predictions are executed on the databases of a dataset and on its test suites, and
told in numbers. It needs the standard library alone.
"""

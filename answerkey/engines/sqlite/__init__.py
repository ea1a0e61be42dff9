"""Databases in files of SQLite."""

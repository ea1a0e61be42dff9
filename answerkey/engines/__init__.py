"""Engines: execute untrusted SQL on a database, and compare answers."""

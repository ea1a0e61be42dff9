"""Test suites: small databases on which wrong queries give other answers than gold."""

"""SQLite: execute untrusted SQL, and compare answers."""

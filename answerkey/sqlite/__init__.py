"""SQLite: where foreign SQL runs, what answers are and when two are the same."""

"""DuckDB: databases of SQL text, in a process of their own."""

"""PostgreSQL: databases built from dumps in a server of our own, and queries under limits."""

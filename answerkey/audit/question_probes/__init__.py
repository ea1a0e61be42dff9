"""The probes of a query against its question: one file each, named after its flag."""

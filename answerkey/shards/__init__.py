"""Shards: one a database, made again only when what makes it has changed."""

"""Shards: files per database, made again only if their inputs have changed."""

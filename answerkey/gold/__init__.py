"""Execute and parse every gold query, for the shards of two stages."""

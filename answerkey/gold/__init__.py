"""Every gold query, executed and parsed: what the shards of two stages run."""

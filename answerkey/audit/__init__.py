"""The audit of gold answers: `probes` has one file a probe, `registry` finds them, and
`query_audit` asks all of them about one query. The other modules help the probes.
"""

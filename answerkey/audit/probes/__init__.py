"""One file a probe, named after its flag: `probes/empty_answer.py` has `find_empty_answer`, which
raises `Flag.EMPTY_ANSWER`. Whatever is in this folder is asked about every answer.
"""

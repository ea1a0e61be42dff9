"""The base of the library: records on disk, params, log, and the vocabulary."""

"""A database and questions of a user, made into a corpus that the pipeline reads."""

"""`answerkey read`: a model reviews gold SQL with the database open, and gives a verdict."""

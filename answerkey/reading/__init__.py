"""`answerkey read`: a model reads gold SQL with the database open, and says what it holds of it."""

"""The verbs of the command `answerkey`, one a module: what it takes, and what it does."""

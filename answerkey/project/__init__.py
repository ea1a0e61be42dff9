"""A project of one's own: `answerkey init` writes it, `answerkey upgrade` brings it up to date."""

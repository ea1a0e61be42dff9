"""Answerkey: text-to-SQL corpora with gold answers that were executed, audited and versioned."""

"""What inspect_ai finds by the name of this package: answerkey/text_to_sql and its scorer."""

from answerkey.environments.inspect_ai import execution_match, run_sql, text_to_sql

__all__ = ["execution_match", "run_sql", "text_to_sql"]

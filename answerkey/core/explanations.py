"""Explanations: what each reason and each flag says of a question, in one sentence for people."""

from __future__ import annotations

from answerkey.core.flags import Flag
from answerkey.core.reasons import Reason

EXPLANATIONS: dict[str, str] = {
    Reason.SQL_ERROR: "SQLite refuses the gold SQL, for example because a column does not exist.",
    Reason.NOT_A_SELECT: "The gold SQL is not a query that only reads.",
    Reason.MULTIPLE_STATEMENTS: "The gold SQL holds more than one statement.",
    Reason.FORBIDDEN_FUNCTION: "The gold SQL calls a function that foreign SQL may not call.",
    Reason.NONDETERMINISTIC_FUNCTION: (
        "The query asks the clock, chance or the connection, so its answer changes from run to run."
    ),
    Reason.STEP_BUDGET_EXCEEDED: "The query takes more of SQLite's steps than params allow.",
    Reason.TIME_EXCEEDED: "One step of the query took longer than the last resort, a time limit.",
    Reason.TOO_MANY_ROWS: "The query returns more rows than params let any query return.",
    Reason.VALUE_TOO_LARGE: "The query makes a value that is larger than params allow.",
    Reason.ANSWER_TOO_LARGE: "The answer takes more bytes than params allow.",
    Reason.HEAP_EXCEEDED: "The query needs more memory than params allow.",
    Reason.UNDECODABLE_TEXT: "The question or its answer holds text that is not UTF-8.",
    Reason.BLOB: "The answer holds a BLOB, which JSON cannot hold.",
    Reason.NOT_FINITE: "The answer holds a number that is not finite, which JSON cannot hold.",
    Reason.NULL_ANSWER: "The answer is a single NULL.",
    Reason.UNPARSABLE_SQL: "SQLite runs the query, but it cannot be parsed.",
    Reason.TOO_COMPLEX: "The query is larger than any that a person would write.",
    Reason.EMPTY_QUESTION: "The question has no text: the corpus asks nothing.",
    Reason.EXCLUDED_BY_CURATOR: "A person looked at the question and decided against it.",
    Reason.NOT_SELECTED: "The question is usable, but the targets take no more of its kind.",
    **{flag: flag.explanation for flag in Flag},
}

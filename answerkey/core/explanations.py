"""Explanations: what each reason and each flag says of a question, in one sentence for people."""

from __future__ import annotations

from answerkey.core.reasons import Flag, Reason

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
    Reason.EMPTY_QUESTION: "The question has no text: the corpus asks nothing.",
    Reason.EXCLUDED_BY_CURATOR: "A person looked at the question and decided against it.",
    Reason.NOT_SELECTED: "The question is usable, but the targets take no more of its kind.",
    Flag.TIE_AT_LIMIT: (
        "LIMIT cuts through rows that ORDER BY holds equal: another correct query gives another"
        " answer."
    ),
    Flag.LIMIT_WITHOUT_ORDER: (
        "LIMIT without ORDER BY, or a value taken from several rows, keeps whichever SQLite reads"
        " first."
    ),
    Flag.ROW_ORDER_DEPENDENT: (
        "The answer changes when the same rows are stored or scanned in another order."
    ),
    Flag.BARE_COLUMN: (
        "A selected column is neither grouped nor aggregated: its value comes from any row of the"
        " group."
    ),
    Flag.NOT_REPRODUCIBLE: "A second execution did not give the same answer.",
    Flag.ORDER_UNDERDETERMINED: "ORDER BY leaves the order of rows that differ open.",
    Flag.NUMERIC_TEXT_ORDER: (
        "Numbers stored as text are sorted or compared as text, where '95' is greater than '1200'."
    ),
    Flag.DOUBLE_QUOTED_LITERAL: (
        "A double-quoted word is a column or a string, and here it may not be what was meant."
    ),
    Flag.TYPE_MISMATCH: "A comparison is decided by the types of its sides, not by their values.",
    Flag.CROSS_JOIN: "No condition joins two tables, so that every row meets every other.",
    Flag.JOIN_NOT_ON_KEY: (
        "Tables are joined on columns that neither the schema nor the data relate to each other."
    ),
    Flag.DUPLICATE_ROWS: (
        "The answer has equal rows: with DISTINCT, which its question may mean, it has fewer."
    ),
    Flag.EMPTY_ANSWER: "The answer has no row: any query that finds nothing would be right.",
    Flag.ALL_NULL: "The answer has several values, and each of them is NULL.",
    Flag.REPEATED_COLUMN: (
        "The query selects the same column twice, where its question may ask for another."
    ),
    Flag.VACUOUS_CONDITION: (
        "Every row meets a condition, or none does: another condition gets the same answer."
    ),
    Flag.EMPTY_TABLE: "The query reads a table that has no row.",
    Flag.BOOLEAN_ANSWER: (
        "The answer is one of two values, such as 0 or 1: a guess is right half of the time."
    ),
    Flag.GUESSABLE: (
        "Trivial queries on the same tables, such as counting rows, give the same answer."
    ),
    Flag.MANY_ROWS: "The answer has more rows than params allow.",
    Flag.TOO_LARGE: "The answer is longer, as JSON, than params allow.",
    Flag.DUPLICATE_QUESTION: (
        "The same question of the same database, with the same SQL or answer, stands earlier in the"
        " corpus."
    ),
    Flag.NEAR_DUPLICATE_QUESTION: "Its wording is almost that of another question.",
    Flag.PARAPHRASE_OF: "Another question of the database, worded otherwise, has the same SQL.",
    Flag.CONFLICTING_GOLD: "The same question of the same database has another gold answer too.",
    Flag.QUESTION_IN_BOTH_SPLITS: "The same question stands in train and in eval.",
    Flag.TEMPLATE_IN_BOTH_SPLITS: "A query of the same form stands in the other split.",
    Flag.SCHEMA_IN_BOTH_SPLITS: (
        "A database of the other split has the same tables and columns, or nearly so."
    ),
}

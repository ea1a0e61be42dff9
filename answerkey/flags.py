"""The catalogue of flags: what each says of a question, and what follows from it by default.

A doubt raises a flag by its name (`answerkey.base.records.Finding`) and needs nothing from here: so
a sentence or a policy may change, and nothing is audited again.

`python -m answerkey.flags` prints the table of docs/doubts.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from answerkey.base.errors import OTHER_VERSION, InputError, exit_on_error
from answerkey.base.reasons import Policy, Reason

DIALECT_DIFFERS = "dialect_differs"


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag, for people: a sentence, and an example with the kinds of its evidence.

    policy: the default of `select_questions.policies`.
    doubts_gold: whether it doubts that the SQL says what the question asks, which a person may
        settle. The other flags are facts about the answer or the set: that another answer is as
        good, that it is easy to guess.
    """

    name: str
    policy: Policy
    sentence: str
    example: str
    doubts_gold: bool = False

    def __post_init__(self) -> None:
        # No annotation is checked when the library runs: "exclud" would be no policy to anyone.
        Policy(self.policy)


# Records list the flags of a question in this order, and the first that excludes is the reason. A
# new flag stands at the end: it explains nothing that an older one has explained before.
FAMILIES: dict[str, tuple[Flag, ...]] = {
    "Order": (
        Flag(
            "tie_at_limit",
            Policy.EXCLUDE,
            "LIMIT cuts through rows that ORDER BY holds equal: another correct query gives "
            "another answer.",
            example="two ships weigh 90: `ORDER BY weight DESC LIMIT 1`",
        ),
        Flag(
            "limit_without_order",
            Policy.EXCLUDE,
            "LIMIT without ORDER BY, or a value taken from several rows, keeps whichever "
            "SQLite reads first.",
            example="`SELECT name FROM ship LIMIT 1`",
        ),
        Flag(
            "bare_column",
            Policy.EXCLUDE,
            "A selected column is neither grouped nor aggregated: its value comes from any "
            "row of the group.",
            example="`SELECT name, count(*) FROM ship`",
        ),
        Flag(
            "row_order_dependent",
            Policy.EXCLUDE,
            "The answer changes when the same rows are stored or scanned in another order.",
            example="`group_concat(name)`",
        ),
        Flag(
            "not_reproducible",
            Policy.EXCLUDE,
            "The query could not be audited: that took too long, or it is nested too deeply.",
            example="a thousand nested CTEs",
        ),
        Flag(
            "numeric_text_order",
            Policy.EXCLUDE,
            "Numbers stored as text are sorted or compared as text, where '95' is greater "
            "than '1200'.",
            example="`ORDER BY tonnage`, a text column: '95' above '1200'. Kinds: `number`; `unit` "
            "of '22.7%', '4:32'",
            doubts_gold=True,
        ),
    ),
    "Soundness on the schema and the data": (
        Flag(
            "type_mismatch",
            Policy.EXCLUDE,
            "Text is compared with a number, and the answer is another if it is read as one.",
            example="`strftime('%Y', day) = 2020` never holds",
            doubts_gold=True,
        ),
        Flag(
            "cross_join",
            Policy.FLAG,
            "No condition joins two tables, so that every row meets every other.",
            example="`FROM ship, port` without a condition",
            doubts_gold=True,
        ),
        Flag(
            "duplicate_rows",
            Policy.FLAG,
            "The answer has equal rows: with DISTINCT, which its question may mean, it has fewer.",
            example="ports of ships, one a ship",
        ),
        Flag(
            "empty_answer",
            Policy.EXCLUDE,
            "The answer has no row: any query that finds nothing would be right.",
            example="no ship is called Nobody",
        ),
        Flag(
            "all_null",
            Policy.EXCLUDE,
            "The answer has several values, and each of them is NULL.",
            example="`SELECT max(a), max(b)` of no rows",
        ),
    ),
    "Worth as a training signal": (
        Flag(
            "boolean_answer",
            Policy.EXCLUDE,
            "The answer is one of two values, such as 0 or 1: a guess is right half of the time.",
            example="`SELECT count(*) ...` gives 1",
        ),
        Flag(
            "many_rows",
            Policy.EXCLUDE,
            "The answer has more rows than params allow.",
            example="over `audit_gold_answers.max_rows`",
        ),
        Flag(
            "too_large",
            Policy.EXCLUDE,
            "The answer is longer, as JSON, than params allow.",
            example="over `audit_gold_answers.max_bytes`",
        ),
    ),
    "What the query does, and what its question asks for": (
        Flag(
            "group_by_non_key",
            Policy.FLAG,
            "Rows are grouped by a column that different things share, such as a name.",
            example="songs counted by `GROUP BY singer.name`. Kinds: `place` for a town that two "
            "countries have",
            doubts_gold=True,
        ),
        Flag(
            "set_operation_on_non_key",
            Policy.FLAG,
            "INTERSECT or EXCEPT compares a column that different things share, such as a name.",
            example="names of singers EXCEPT names of those with a song. Kinds: `part_of_name` "
            "a first or last name alone; `people` full names of people; `others`",
            doubts_gold=True,
        ),
        Flag(
            "join_fan_out",
            Policy.FLAG,
            "A join repeats rows, and an aggregate counts or adds them more than once.",
            example='"how many singers have a song?" by `count(*)` over singer and song. Kinds: '
            "`counted` the things counted stand several times; `referred` a table that "
            "refers to them repeats; `added` SUM or AVG of repeated values; `possible`, `averaged` "
            "no row shows it yet",
            doubts_gold=True,
        ),
        Flag(
            "join_repeats_rows",
            Policy.FLAG,
            "A join returns one thing several times, and the query has no DISTINCT.",
            example="names of singers of songs, without DISTINCT. Kinds: `in_data`; `listed` "
            "all, or in an order; `linked` by a relation; "
            "`possible`; `referred` by a foreign key",
            doubts_gold=True,
        ),
        Flag(
            "date_text_order",
            Policy.FLAG,
            "Dates that begin with the day or the month are compared as text.",
            example="`ORDER BY day` of '31.12.2019'. Kinds: `sorted`, `extreme`, `range`",
            doubts_gold=True,
        ),
        Flag(
            "latent_text_order",
            Policy.FLAG,
            "Numbers stored as text are sorted or compared as text, which changes nothing in these "
            "rows.",
            example="the greatest is '95', and '1200' stands elsewhere. Kinds: `number`; `unit` "
            "of '22.7%', '4:32'",
            doubts_gold=True,
        ),
        Flag(
            "text_arithmetic",
            Policy.FLAG,
            "The query computes with text, of which SQLite takes the number at its start, or 0.",
            example="`avg(weight)` over '95' and 'unknown'. Kinds: `no_number` such a text; "
            "`unread` '4:32' is 4; `date` a difference of dates, in years",
            doubts_gold=True,
        ),
        Flag(
            "zero_count_dropped",
            Policy.FLAG,
            "The question asks for the fewest, or for at most so many, and a join drops those "
            "with none.",
            example='"who has the fewest songs?" by an inner join. Kinds: `fewest`; `at_most`, at '
            "least 0 is less; `possible` none is dropped yet",
            doubts_gold=True,
        ),
        Flag(
            "literal_not_in_column",
            Policy.FLAG,
            "A column is compared with a text that it does not hold.",
            example="`kind = 'barge'` where the column has 'Barge'. Kinds: `null` the text "
            "'null'; `spelling`; `other_column` holds it; `near` a slip of the pen; "
            "`subquery`: of its values the column holds none",
            doubts_gold=True,
        ),
        Flag(
            "literal_not_in_question",
            Policy.FLAG,
            "A number or a text of the query is not in its question.",
            example='"over 800": `weight > 1000`. Kinds: `text`, "barges laid up": '
            "`state = 'sailing'`, where the column holds both; `limit`",
            doubts_gold=True,
        ),
        Flag(
            "direction_mismatch",
            Policy.FLAG,
            "The question asks for the least and the query for the most, or the other way round.",
            example='"the fewest berths": `ORDER BY berths DESC LIMIT 1`',
            doubts_gold=True,
        ),
        Flag(
            "comparison_mismatch",
            Policy.FLAG,
            "The question compares otherwise than the query does: at least is not more than.",
            example='"at least 5": `crew > 5`',
            doubts_gold=True,
        ),
        Flag(
            "projection_mismatch",
            Policy.FLAG,
            "The query returns other columns, or other aggregates, than its question asks for.",
            example='"names and ages": `SELECT name, town`. Kinds: `missing_column`, '
            "`similar_column`, `count_not_asked`, `count_missing`, `value_per_group`, "
            "`unasked_extreme`. What the evidence names is asked for",
            doubts_gold=True,
        ),
    ),
    "What other rows show, those of its test suite": (
        Flag(
            "latent_ambiguity",
            Policy.FLAG,
            "Another reading of the question has the same answer here, and another on other rows.",
            example="grouped by name or by key: the same here. Kinds: [readings](#readings)",
        ),
        Flag(
            "weak_answer",
            Policy.FLAG,
            "The answers on the test suite tell too few wrong queries from the gold query.",
            example="below `compare_questions.min_mutation_score`, or no suite, or the suite "
            "does not tell `by_heart`, or what the database tells (`guarded`)",
        ),
    ),
    "All of these together, and what people or models said": (
        Flag(
            "answer_risk",
            Policy.EXCLUDE,
            "Its signs together make it likely that the answer is not what the question asks.",
            example="a repair that answers otherwise",
            doubts_gold=True,
        ),
        Flag(
            "judged_wrong",
            Policy.EXCLUDE,
            "A person or a model judged that the SQL does not say what the question asks.",
            example="a line of data/verdicts",
        ),
        Flag(
            "judged_right",
            Policy.FLAG,
            "A person or a model judged that the SQL says what the question asks.",
            example="a line of data/verdicts",
        ),
        Flag(
            "judged_wrong_sql",
            Policy.FLAG,
            "A person or a model judged that the SQL says something else than the question, and "
            "its answer is right.",
            example="a line of data/verdicts with `answers`: `same`",
        ),
        Flag(
            "judged_ambiguous",
            Policy.EXCLUDE,
            "A person or a model judged that the question may mean two things, of which the SQL is "
            "one.",
            example="a line of data/verdicts",
        ),
        Flag(
            "corrected",
            Policy.FLAG,
            "A list of corrections has another query, text or evidence for it than its corpus.",
            example="an entry `replace` in data/corrections",
        ),
        Flag(
            "unconfirmed",
            Policy.EXCLUDE,
            "Its correction or verdict was made on other data, and its query does not answer here "
            "as it did there.",
            example="it says that `flag = 'USA'` finds rows, and this database has 'US'",
            doubts_gold=True,
        ),
    ),
    "The set as a whole": (
        Flag(
            "duplicate_question",
            Policy.EXCLUDE,
            "The same question of the same database, with the same SQL or answer, stands "
            "earlier in the corpus.",
            example="a question that stands twice",
        ),
        Flag(
            "near_duplicate_question",
            Policy.FLAG,
            "Its wording is almost that of another question.",
            example='"ships\' names" and "names of ships", from '
            "`compare_questions.min_similarity` on",
        ),
        Flag(
            "paraphrase_of",
            Policy.FLAG,
            "Another question of the database, worded otherwise, has the same SQL.",
            example="two wordings of one query",
        ),
        Flag(
            "conflicting_gold",
            Policy.EXCLUDE,
            "The same question of the same database has another gold answer too.",
            example="one text, two answers",
        ),
        Flag(
            "question_in_both_splits",
            Policy.EXCLUDE,
            "The same question stands in train and in eval.",
            example="a question in train and eval",
        ),
        Flag(
            "template_in_both_splits",
            Policy.FLAG,
            "A query of the same form stands in the other split.",
            example="`SELECT c1 FROM t1 WHERE c2 = ?`",
        ),
        Flag(
            "schema_in_both_splits",
            Policy.FLAG,
            "A database of the other split has the same tables and columns, or nearly so.",
            example="two databases with one schema",
        ),
        Flag(
            "overlap",
            Policy.FLAG,
            "The question or its SQL stands in a dev or test set that params name, or nearly so.",
            example="a question of a test set that `load_questions.held_out` names",
        ),
        Flag(
            "seen_in_train",
            Policy.EXCLUDE,
            "A question of train asks the same of the same database, so that this one of eval "
            "proves little.",
            example="where `corpora.NAME.split` lets databases be in both splits. Kinds: "
            "`question` the same text; `sql`; `constants` the same SQL but for them; `wording` "
            "nearly the same text, with the same answer or by a query of the same form",
        ),
    ),
    "What models make of it": (
        Flag(
            "models_agree_otherwise",
            Policy.FLAG,
            "Models agree with each other on an answer that is not the gold answer.",
            example="11 of 20 models answer 4, where gold answers 5. Kinds, by the share of "
            "models: `some` from 1/6, `third`, `half`, `most` from 2/3",
            doubts_gold=True,
        ),
        Flag(
            "always_solved",
            Policy.FLAG,
            "Every rollout is right, on the test suite as well.",
            example="every rollout is right",
        ),
        Flag(
            "never_solved",
            Policy.FLAG,
            "No rollout is right on the test suite as well.",
            example="no rollout is right",
        ),
    ),
    "What the engine says that gold SQL was written for": (
        Flag(
            DIALECT_DIFFERS,
            Policy.EXCLUDE,
            "Gold SQL was written for another engine, and in SQLite it fails, or may give other "
            "rows than there.",
            example="Postgres gives 3 rows and SQLite 2: docs/your-database.md",
            doubts_gold=True,
        ),
    ),
}
FLAGS = {flag.name: flag for flag in chain.from_iterable(FAMILIES.values())}
_PLACES = {name: place for place, name in enumerate(FLAGS)}

REASONS: dict[str, str] = {
    Reason.UNREADABLE_DATABASE: "The file of its database is corrupt, or the SQL text of it fails.",
    Reason.SQL_ERROR: "SQLite refuses the gold SQL, for example because a column does not exist.",
    Reason.NOT_A_SELECT: "The gold SQL is not a query that only reads.",
    Reason.MULTIPLE_STATEMENTS: "The gold SQL holds more than one statement.",
    Reason.FORBIDDEN_FUNCTION: "The gold SQL calls a function that foreign SQL may not call.",
    Reason.NONDETERMINISTIC_FUNCTION: (
        "The answer changes from run to run: by chance, the connection, or the clock, which"
        " corpora.NAME.now sets."
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
    Reason.NO_GOLD_SQL: "The corpus has answers and no SQL: to evaluate models, not to train them.",
    Reason.EXCLUDED_BY_CURATOR: "A person looked at the question and decided against it.",
    Reason.NOT_SELECTED: "The question is usable, but the targets take no more of its kind.",
}
EXPLANATIONS = REASONS | {name: flag.sentence for name, flag in FLAGS.items()}


def sort_flags(flags: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the flags of a question in the order of the catalogue.

    >>> sort_flags([{"code": "date_text_order"}, {"code": "tie_at_limit"}])
    [{'code': 'tie_at_limit'}, {'code': 'date_text_order'}]

    Raises:
        InputError: on a flag that is not in it.
    """
    known = list(flags)
    if unknown := {flag["code"] for flag in known} - _PLACES.keys():
        raise InputError(f"no flag is called {', '.join(sorted(unknown))}: {OTHER_VERSION}")
    return sorted(known, key=lambda flag: _PLACES[flag["code"]])


def list_flags(precision: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of docs/doubts.md that list all flags, with data/flag_precision.json."""
    columns = ("flag", "default", "what it says", "example", "wrong SQL, of judged", "wrong answer")
    yield f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"
    for family, flags in FAMILIES.items():
        yield f"| **{family}** {'| ' * len(columns)}".rstrip()
        for flag in flags:
            judged = (_list_counts(precision, target, flag.name) for target in ("sql", "answers"))
            cells = (f"`{flag.name}`", flag.policy, flag.sentence, flag.example, *judged)
            yield f"| {' | '.join(cells)} |"


def _list_counts(precision: Mapping[str, Any], target: str, name: str) -> str:
    """
    >>> of_flag = {"questions": 3, "wrong": 2, "cases": []}
    >>> _list_counts({"spider": {"sql": {"flags": {"all_null": of_flag}}}}, "sql", "all_null")
    'spider 2 of 3'
    """
    return ", ".join(
        f"{corpus} {count['wrong']} of {count['questions']}"
        for corpus, tables in sorted(precision.items())
        if (count := tables[target]["flags"].get(name))
    )


if __name__ == "__main__":
    counted = Path("data/flag_precision.json").read_text(encoding="utf-8")
    with exit_on_error("answerkey.flags"):
        print("\n".join(list_flags(json.loads(counted))))

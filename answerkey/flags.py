"""The catalogue of flags: what each says of a question, and what follows from it by default.

A probe raises a flag by its name (`answerkey.records.Finding`) and needs nothing from here: so a
sentence or a policy may change, and nothing is audited again.

`python -m answerkey.flags` prints the tables of docs/probes.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.records import Reason

EXCLUDE, FLAG = "exclude", "flag"


class Flag(NamedTuple):
    """A flag, for people.

    because: why it matters, or the source of its rule; with the kinds of its evidence.
    policy: the default of `select_questions.policies`.
    doubts_gold: whether it doubts that the SQL says what the question asks, which a person may
        settle. The other flags are facts about the answer or the set: that another answer is as
        good, that it is easy to guess.
    """

    name: str
    sentence: str
    example: str
    because: str
    policy: str = FLAG
    doubts_gold: bool = False


# Records list the flags of a question in this order, and the first that excludes is the reason.
FAMILIES: dict[str, tuple[Flag, ...]] = {
    "Order": (
        Flag(
            "tie_at_limit",
            "LIMIT cuts through rows that ORDER BY holds equal: another correct query gives "
            "another answer.",
            example="two ships weigh 90: `ORDER BY weight DESC LIMIT 1`",
            because="another answer is as right",
            policy=EXCLUDE,
        ),
        Flag(
            "limit_without_order",
            "LIMIT without ORDER BY, or a value taken from several rows, keeps whichever "
            "SQLite reads first.",
            example="`SELECT name FROM ship LIMIT 1`",
            because="SQLite promises no order",
            policy=EXCLUDE,
        ),
        Flag(
            "bare_column",
            "A selected column is neither grouped nor aggregated: its value comes from any "
            "row of the group.",
            example="`SELECT name, count(*) FROM ship`",
            because="SQLite manual, bare columns in an aggregate query",
            policy=EXCLUDE,
        ),
        Flag(
            "row_order_dependent",
            "The answer changes when the same rows are stored or scanned in another order.",
            example="`group_concat(name)`",
            because="the answer on a copy stored in another order differs",
            policy=EXCLUDE,
        ),
        Flag(
            "not_reproducible",
            "The query could not be audited: that took too long, or it is nested too deeply.",
            example="a thousand nested CTEs",
            because="what was not audited is not known to be sound",
            policy=EXCLUDE,
        ),
        Flag(
            "numeric_text_order",
            "Numbers stored as text are sorted or compared as text, where '95' is greater "
            "than '1200'.",
            example="`ORDER BY tonnage`, a text column: '95' above '1200'",
            because="text is compared letter by letter",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
    ),
    "Soundness on the schema and the data": (
        Flag(
            "type_mismatch",
            "Text is compared with a number, and the answer is another if it is read as one.",
            example="`strftime('%Y', day) = 2020` never holds",
            because="SQLite manual, datatypes, comparison",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "cross_join",
            "No condition joins two tables, so that every row meets every other.",
            example="`FROM ship, port` without a condition",
            because="every row meets every other",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "duplicate_rows",
            "The answer has equal rows: with DISTINCT, which its question may mean, it has fewer.",
            example="ports of ships, one a ship",
            because="the question may mean each once",
        ),
        Flag(
            "empty_answer",
            "The answer has no row: any query that finds nothing would be right.",
            example="no ship is called Nobody",
            because="whatever finds nothing is right",
            policy=EXCLUDE,
        ),
        Flag(
            "all_null",
            "The answer has several values, and each of them is NULL.",
            example="`SELECT max(a), max(b)` of no rows",
            because="the same",
            policy=EXCLUDE,
        ),
    ),
    "Worth as a training signal": (
        Flag(
            "boolean_answer",
            "The answer is one of two values, such as 0 or 1: a guess is right half of the time.",
            example="`SELECT count(*) ...` gives 1",
            because="a guess is right half of the time",
            policy=EXCLUDE,
        ),
        Flag(
            "many_rows",
            "The answer has more rows than params allow.",
            example="over `audit_gold_answers.max_rows`",
            because="nobody asks for so many",
            policy=EXCLUDE,
        ),
        Flag(
            "too_large",
            "The answer is longer, as JSON, than params allow.",
            example="over `audit_gold_answers.max_bytes`",
            because="the same",
            policy=EXCLUDE,
        ),
    ),
    "What the query does, and what its question asks for": (
        Flag(
            "order_without_effect",
            "ORDER BY or LIMIT works on a single row: the condition that was meant is missing.",
            example="`SELECT avg(w) FROM ship ORDER BY year LIMIT 1`",
            because="an aggregate without GROUP BY is one row",
            doubts_gold=True,
        ),
        Flag(
            "group_by_non_key",
            "Rows are grouped by a column that different things share, such as a name.",
            example="songs counted by `GROUP BY singer.name`",
            because='two singers may have one name; "for each name" asks for them',
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "set_operation_on_non_key",
            "INTERSECT or EXCEPT compares a column that different things share, such as a name.",
            example="names of singers EXCEPT names of those with a song",
            because=(
                "one namesake drops the other. Kinds: `part_of_name` a first or last name "
                "alone; `people` full names of people; `others`"
            ),
            doubts_gold=True,
        ),
        Flag(
            "join_fan_out",
            "A join repeats rows, and an aggregate counts or adds them more than once.",
            example='"how many singers have a song?" by `count(*)` over singer and song',
            because=(
                "fan and chasm traps of joins. Kinds: `counted` the things counted stand "
                "several times; `referred` a table that refers to them repeats; `added` SUM or "
                "AVG of repeated values; `possible` no row shows it yet"
            ),
            doubts_gold=True,
        ),
        Flag(
            "join_repeats_rows",
            "A join returns one thing several times, and the query has no DISTINCT.",
            example="names of singers of songs, without DISTINCT",
            because=(
                "one thing is returned twice. Kinds: `in_data`; `linked` listed by a relation; "
                "`named` an attribute of one thing; `possible`; `referred` by a foreign key"
            ),
            doubts_gold=True,
        ),
        Flag(
            "latent_tie",
            "ORDER BY with LIMIT sorts by a column that only happens to have no tie in these rows.",
            example="`ORDER BY weight LIMIT 1` where weights repeat elsewhere",
            because="the next row may tie. Kinds: `often`, by three rows a value or more; `seldom`",
            doubts_gold=True,
        ),
        Flag(
            "date_text_order",
            "Dates that begin with the day or the month are compared as text.",
            example="`ORDER BY day` of '31.12.2019'",
            because="the day is compared before the year. Kinds: `sorted`, `extreme`, `range`",
            doubts_gold=True,
        ),
        Flag(
            "limit_on_joined_rows",
            "LIMIT counts rows of a join, not things.",
            example="ports of the worst storm: `JOIN ... ORDER BY storm.dead LIMIT 1`",
            because="the storm has a row a port. Kinds: `one`, `several`",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "each_without_group",
            "A number of each is asked for, and one is returned.",
            example='"the total weight of each port" without GROUP BY',
            because="one value for all",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "zero_count_dropped",
            "The question counts for each, or asks for the fewest, and a join drops those "
            "with none.",
            example='"how many songs has each singer?" by an inner join',
            because=(
                "singers with none are missing. Kinds: `each`; `fewest`, at least 0 is less; "
                "`at_most`; `all`; `possible` none is dropped yet"
            ),
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "not_in_on_rows",
            "The question asks for those that have none, and the query for those that "
            "have another.",
            example="\"who sings no French song?\": `language <> 'French'`",
            because="another row of hers passes",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "literal_not_in_column",
            "A column is compared with a text that it does not hold.",
            example="`kind = 'barge'` where the column has 'Barge'",
            because=(
                "= is exact. Kinds: `null` the text 'null'; `spelling`; `other_column` holds it"
            ),
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "literal_not_in_question",
            "A number of the query is not in its question.",
            example='"over 800": `weight > 1000`',
            because="it or its evidence gives another, or has no word that may bound",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "direction_mismatch",
            "The question asks for the least and the query for the most, or the other way round.",
            example='"the fewest berths": `ORDER BY berths DESC LIMIT 1`',
            because="the youngest has the latest birth date",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "comparison_mismatch",
            "The question compares otherwise than the query does: at least is not more than.",
            example='"at least 5": `crew > 5`',
            because="the number itself is in or out",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "negation_mismatch",
            "The query denies what its question does not.",
            example="\"ships of Ito\": `owner <> 'Ito'`",
            because="neither it nor its evidence has a word that may deny",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "projection_mismatch",
            "The query returns other columns, or other aggregates, than its question asks for.",
            example='"names and ages": `SELECT name, town`',
            because=(
                "Kinds: `missing_column`, `other_column`, `similar_column`, `unasked_column`, "
                "`count_not_asked`, `value_per_group`, `unasked_extreme`. What the evidence names "
                "is asked for"
            ),
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "distinct_missing",
            "The question asks for different values, and the answer has equal rows.",
            example='"different towns" with equal rows',
            because=(
                'Kinds: `asked`; `count` without DISTINCT; `counts_rows` for "number of authors"'
            ),
            doubts_gold=True,
        ),
    ),
    "What other rows show, those of its test suite": (
        Flag(
            "latent_ambiguity",
            "Another reading of the question has the same answer here, and another on other rows.",
            example="grouped by name or by key: the same here",
            because="[test-suites.md](test-suites.md#readings); the kind is the reading",
        ),
        Flag(
            "weak_answer",
            "The answers on the test suite tell too few wrong queries from the gold query.",
            example=(
                "below `compare_questions.min_mutation_score`, or the suite does not tell "
                "`by_heart`"
            ),
            because="wrong SQL passes",
        ),
    ),
    "All of these together, and what people or models said": (
        Flag(
            "gold_risk",
            "Its flags together make it likely that the SQL does not say what the question asks.",
            example="several doubts at once",
            because="the formula of gold risk",
            policy=EXCLUDE,
            doubts_gold=True,
        ),
        Flag(
            "judged_wrong",
            "A person or a model judged that the SQL does not say what the question asks.",
            example="a line of data/verdicts",
            because="a verdict: see below",
            policy=EXCLUDE,
        ),
        Flag(
            "judged_right",
            "A person or a model judged that the SQL says what the question asks.",
            example="a line of data/verdicts",
            because="a verdict: see below",
        ),
    ),
    "The set as a whole": (
        Flag(
            "duplicate_question",
            "The same question of the same database, with the same SQL or answer, stands "
            "earlier in the corpus.",
            example="a question that stands twice",
            because="it would count twice",
            policy=EXCLUDE,
        ),
        Flag(
            "near_duplicate_question",
            "Its wording is almost that of another question.",
            example='"ships\' names" and "names of ships"',
            because="rapidfuzz, from `compare_questions.min_similarity`",
        ),
        Flag(
            "paraphrase_of",
            "Another question of the database, worded otherwise, has the same SQL.",
            example="two wordings of one query",
            because="canonical SQL",
        ),
        Flag(
            "conflicting_gold",
            "The same question of the same database has another gold answer too.",
            example="one text, two answers",
            because="one of them is wrong",
            policy=EXCLUDE,
        ),
        Flag(
            "question_in_both_splits",
            "The same question stands in train and in eval.",
            example="a question in train and eval",
            because="eval would measure memory",
            policy=EXCLUDE,
        ),
        Flag(
            "template_in_both_splits",
            "A query of the same form stands in the other split.",
            example="`SELECT c1 FROM t1 WHERE c2 = ?`",
            because="a weaker form of the same",
        ),
        Flag(
            "schema_in_both_splits",
            "A database of the other split has the same tables and columns, or nearly so.",
            example="two databases with one schema",
            because="the same",
        ),
        Flag(
            "overlap",
            "The question or its SQL stands in a dev or test set that params name, or nearly so.",
            example="a question of a dev set that you report on",
            because="`load_questions.held_out` names the sets",
        ),
    ),
    "What models make of it": (
        Flag(
            "models_agree_otherwise",
            "Models agree with each other on an answer that is not the gold answer.",
            example="11 of 20 models answer 4, where gold answers 5",
            because=(
                "they have the same rows on the database and on its test suite. Kinds, by the "
                "share of models: `some` from 1/6, `third`, `half`, `most` from 2/3"
            ),
            doubts_gold=True,
        ),
        Flag(
            "always_solved",
            "Every rollout is right, on the test suite as well.",
            example="every rollout is right",
            because="nothing is left to learn: [rollouts.md](rollouts.md)",
        ),
        Flag(
            "never_solved",
            "No rollout is right on the test suite as well.",
            example="no rollout is right",
            because="too hard, or wrong gold where the risk is high, too",
        ),
    ),
}
FLAGS = {flag.name: flag for flag in chain.from_iterable(FAMILIES.values())}
_PLACES = {name: place for place, name in enumerate(FLAGS)}

REASONS: dict[str, str] = {
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
}
EXPLANATIONS = REASONS | {name: flag.sentence for name, flag in FLAGS.items()}


def sort_flags(flags: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the flags of a question in the order of the catalogue.

    >>> sort_flags([{"code": "latent_tie"}, {"code": "tie_at_limit"}])
    [{'code': 'tie_at_limit'}, {'code': 'latent_tie'}]
    """
    return sorted(flags, key=lambda flag: _PLACES[flag["code"]])


def list_tables(precision: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of docs/probes.md that list all flags, and all reasons.

    precision: what data/flag_precision.json says of each corpus.
    """
    columns = ("flag", "default", "what it says", "example", "why", "wrong gold, of judged")
    yield f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"
    for family, flags in FAMILIES.items():
        yield f"| **{family}** {'| ' * len(columns)}".rstrip()
        for flag in flags:
            cells = (f"`{flag.name}`", flag.policy, flag.sentence, flag.example, flag.because)
            yield f"| {' | '.join((*cells, _describe_precision(flag.name, precision)))} |"
    yield ""
    yield "### Reasons why a question has no answer\n\n| reason | what it says |\n|---|---|"
    for name, sentence in REASONS.items():
        yield f"| `{name}` | {sentence} |"


def _describe_precision(name: str, precision: Mapping[str, Any]) -> str:
    """Return how often gold with a flag is wrong in each corpus, such as `spider 36 of 39`."""
    counts = {corpus: found["flags"].get(name) for corpus, found in sorted(precision.items())}
    return ", ".join(
        f"{corpus} {count['wrong']} of {count['questions']}"
        for corpus, count in counts.items()
        if count
    )


if __name__ == "__main__":
    counted = Path("data/flag_precision.json").read_text(encoding="utf-8")
    print("\n".join(list_tables(json.loads(counted))))

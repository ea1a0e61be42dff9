"""The catalogue of flags: what each says of a question, and what follows from it by default.

A probe raises a flag by its name (`answerkey.base.records.Finding`) and needs nothing from here: so
a sentence or a policy may change, and nothing is audited again.

`python -m answerkey.flags` prints the table of docs/probes.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.errors import tell_errors
from answerkey.base.reasons import Reason

EXCLUDE, FLAG = "exclude", "flag"


class Flag(NamedTuple):
    """A flag, for people: a sentence, and an example with the kinds of its evidence.

    policy: the default of `select_questions.policies`.
    doubts_gold: whether it doubts that the SQL says what the question asks, which a person may
        settle. The other flags are facts about the answer or the set: that another answer is as
        good, that it is easy to guess.
    """

    name: str
    sentence: str
    example: str
    policy: str = FLAG
    doubts_gold: bool = False


# Records list the flags of a question in this order, and the first that excludes is the reason.
_CATALOGUE = r"""
# Order
tie_at_limit: exclude
    LIMIT cuts through rows that ORDER BY holds equal: another correct query gives another
    answer.
    e.g. two ships weigh 90: `ORDER BY weight DESC LIMIT 1`
limit_without_order: exclude
    LIMIT without ORDER BY, or a value taken from several rows, keeps whichever SQLite reads
    first.
    e.g. `SELECT name FROM ship LIMIT 1`
bare_column: exclude
    A selected column is neither grouped nor aggregated: its value comes from any row of the
    group.
    e.g. `SELECT name, count(*) FROM ship`
row_order_dependent: exclude
    The answer changes when the same rows are stored or scanned in another order.
    e.g. `group_concat(name)`
not_reproducible: exclude
    The query could not be audited: that took too long, or it is nested too deeply.
    e.g. a thousand nested CTEs
numeric_text_order: exclude, doubts gold
    Numbers stored as text are sorted or compared as text, where '95' is greater than '1200'.
    e.g. `ORDER BY tonnage`, a text column: '95' above '1200'
# Soundness on the schema and the data
type_mismatch: exclude, doubts gold
    Text is compared with a number, and the answer is another if it is read as one.
    e.g. `strftime('%Y', day) = 2020` never holds
cross_join: exclude, doubts gold
    No condition joins two tables, so that every row meets every other.
    e.g. `FROM ship, port` without a condition
duplicate_rows: flag
    The answer has equal rows: with DISTINCT, which its question may mean, it has fewer.
    e.g. ports of ships, one a ship
empty_answer: exclude
    The answer has no row: any query that finds nothing would be right.
    e.g. no ship is called Nobody
all_null: exclude
    The answer has several values, and each of them is NULL.
    e.g. `SELECT max(a), max(b)` of no rows
# Worth as a training signal
boolean_answer: exclude
    The answer is one of two values, such as 0 or 1: a guess is right half of the time.
    e.g. `SELECT count(*) ...` gives 1
many_rows: exclude
    The answer has more rows than params allow.
    e.g. over `audit_gold_answers.max_rows`
too_large: exclude
    The answer is longer, as JSON, than params allow.
    e.g. over `audit_gold_answers.max_bytes`
# What the query does, and what its question asks for
order_without_effect: flag, doubts gold
    ORDER BY or LIMIT works on a single row: the condition that was meant is missing.
    e.g. `SELECT avg(w) FROM ship ORDER BY year LIMIT 1`
group_by_non_key: exclude, doubts gold
    Rows are grouped by a column that different things share, such as a name.
    e.g. songs counted by `GROUP BY singer.name`
set_operation_on_non_key: flag, doubts gold
    INTERSECT or EXCEPT compares a column that different things share, such as a name.
    e.g. names of singers EXCEPT names of those with a song. Kinds: `part_of_name` a first or
    last name alone; `people` full names of people; `others`
join_fan_out: flag, doubts gold
    A join repeats rows, and an aggregate counts or adds them more than once.
    e.g. "how many singers have a song?" by `count(*)` over singer and song. Kinds: `counted`
    the things counted stand several times; `referred` a table that refers to them repeats;
    `added` SUM or AVG of repeated values; `possible` no row shows it yet
join_repeats_rows: flag, doubts gold
    A join returns one thing several times, and the query has no DISTINCT.
    e.g. names of singers of songs, without DISTINCT. Kinds: `in_data`; `linked` listed by a
    relation; `named` an attribute of one thing; `possible`; `referred` by a foreign key
latent_tie: flag, doubts gold
    ORDER BY with LIMIT sorts by a column that only happens to have no tie in these rows.
    e.g. `ORDER BY weight LIMIT 1` where weights repeat elsewhere. Kinds: `often`, by three rows
    a value or more; `seldom`
date_text_order: flag, doubts gold
    Dates that begin with the day or the month are compared as text.
    e.g. `ORDER BY day` of '31.12.2019'. Kinds: `sorted`, `extreme`, `range`
limit_on_joined_rows: exclude, doubts gold
    LIMIT counts rows of a join, not things.
    e.g. ports of the worst storm: `JOIN ... ORDER BY storm.dead LIMIT 1`. Kinds: `one`,
    `several`
each_without_group: exclude, doubts gold
    A number of each is asked for, and one is returned.
    e.g. "the total weight of each port" without GROUP BY
zero_count_dropped: exclude, doubts gold
    The question counts for each, or asks for the fewest, and a join drops those with none.
    e.g. "how many songs has each singer?" by an inner join. Kinds: `each`; `fewest`, at least 0
    is less; `at_most`; `all`; `possible` none is dropped yet
not_in_on_rows: exclude, doubts gold
    The question asks for those that have none, and the query for those that have another.
    e.g. "who sings no French song?": `language <> 'French'`
literal_not_in_column: exclude, doubts gold
    A column is compared with a text that it does not hold.
    e.g. `kind = 'barge'` where the column has 'Barge'. Kinds: `null` the text 'null';
    `spelling`; `other_column` holds it
literal_not_in_question: exclude, doubts gold
    A number of the query is not in its question.
    e.g. "over 800": `weight > 1000`
direction_mismatch: exclude, doubts gold
    The question asks for the least and the query for the most, or the other way round.
    e.g. "the fewest berths": `ORDER BY berths DESC LIMIT 1`
comparison_mismatch: exclude, doubts gold
    The question compares otherwise than the query does: at least is not more than.
    e.g. "at least 5": `crew > 5`
negation_mismatch: exclude, doubts gold
    The query denies what its question does not.
    e.g. "ships of Ito": `owner <> 'Ito'`
projection_mismatch: exclude, doubts gold
    The query returns other columns, or other aggregates, than its question asks for.
    e.g. "names and ages": `SELECT name, town`. Kinds: `missing_column`, `similar_column`,
    `count_not_asked`, `value_per_group`, `unasked_extreme`. What the evidence names is asked
    for
distinct_missing: flag, doubts gold
    The question asks how many different values there are, and the query counts equal ones, too.
    e.g. "how many different towns": `count(town)`. Kinds: `count` without DISTINCT;
    `counts_rows` for "number of authors"
# What other rows show, those of its test suite
latent_ambiguity: flag
    Another reading of the question has the same answer here, and another on other rows.
    e.g. grouped by name or by key: the same here. Kinds: [readings](test-suites.md#readings)
weak_answer: flag
    The answers on the test suite tell too few wrong queries from the gold query.
    e.g. below `compare_questions.min_mutation_score`, or no suite, or the suite does not tell
    `by_heart`, or what the database tells (`guarded`)
# All of these together, and what people or models said
gold_risk: exclude, doubts gold
    Its flags together make it likely that the SQL does not say what the question asks.
    e.g. several doubts at once
judged_wrong: exclude
    A person or a model judged that the SQL does not say what the question asks.
    e.g. a line of data/verdicts
judged_right: flag
    A person or a model judged that the SQL says what the question asks.
    e.g. a line of data/verdicts
# The set as a whole
duplicate_question: exclude
    The same question of the same database, with the same SQL or answer, stands earlier in the
    corpus.
    e.g. a question that stands twice
near_duplicate_question: flag
    Its wording is almost that of another question.
    e.g. "ships' names" and "names of ships", from `compare_questions.min_similarity` on
paraphrase_of: flag
    Another question of the database, worded otherwise, has the same SQL.
    e.g. two wordings of one query
conflicting_gold: exclude
    The same question of the same database has another gold answer too.
    e.g. one text, two answers
question_in_both_splits: exclude
    The same question stands in train and in eval.
    e.g. a question in train and eval
template_in_both_splits: flag
    A query of the same form stands in the other split.
    e.g. `SELECT c1 FROM t1 WHERE c2 = ?`
schema_in_both_splits: flag
    A database of the other split has the same tables and columns, or nearly so.
    e.g. two databases with one schema
overlap: flag
    The question or its SQL stands in a dev or test set that params name, or nearly so.
    e.g. a question of a test set that `load_questions.held_out` names
# What models make of it
models_agree_otherwise: flag, doubts gold
    Models agree with each other on an answer that is not the gold answer.
    e.g. 11 of 20 models answer 4, where gold answers 5. Kinds, by the share of models: `some`
    from 1/6, `third`, `half`, `most` from 2/3
always_solved: flag
    Every rollout is right, on the test suite as well.
    e.g. every rollout is right
never_solved: flag
    No rollout is right on the test suite as well.
    e.g. no rollout is right
"""
_ENTRY = re.compile(r"^(\w+): (exclude|flag)(, doubts gold)?\n((?: .*\n)+)", re.MULTILINE)


def _read_catalogue() -> Iterator[tuple[str, tuple[Flag, ...]]]:
    for family in _CATALOGUE.split("\n# ")[1:]:
        title, _, entries = family.partition("\n")
        flags = []
        for name, policy, doubt, text in _ENTRY.findall(f"{entries}\n"):
            sentence, example = " ".join(text.split()).split(" e.g. ")
            flags.append(Flag(name, sentence, example, policy, bool(doubt)))
        yield title, tuple(flags)


FAMILIES: dict[str, tuple[Flag, ...]] = {
    **dict(_read_catalogue()),
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
    Reason.NO_GOLD_SQL: "The corpus has answers and no SQL: to evaluate models, not to train them.",
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


def list_flags(precision: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of docs/probes.md that list all flags, with data/flag_precision.json."""
    columns = ("flag", "default", "what it says", "example", "wrong gold, of judged")
    yield f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"
    for family, flags in FAMILIES.items():
        yield f"| **{family}** {'| ' * len(columns)}".rstrip()
        for flag in flags:
            judged = ", ".join(
                f"{corpus} {count['wrong']} of {count['questions']}"
                for corpus, found in sorted(precision.items())
                if (count := found["flags"].get(flag.name))
            )
            cells = (f"`{flag.name}`", flag.policy, flag.sentence, flag.example, judged)
            yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    counted = Path("data/flag_precision.json").read_text(encoding="utf-8")
    with tell_errors("answerkey.flags"):
        print("\n".join(list_flags(json.loads(counted))))

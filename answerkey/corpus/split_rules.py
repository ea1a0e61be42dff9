"""Split a corpus by a rule: a share of its databases, or of its queries, is eval."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.base.records import EVAL, TRAIN, digest_text
from answerkey.corpus.records import SourceQuestion
from answerkey.corpus.splits import read_split, refuse_crossing
from answerkey.engines.schema import Schema, SchemaFile
from answerkey.sections.corpora import QUERY, SOURCE, SplitRule

_DIGEST_BITS = 64


def choose_splits(
    questions: Sequence[SourceQuestion],
    rules: Mapping[str, SplitRule],
    open_schemas: Callable[[], SchemaFile],
) -> list[str]:
    """Return the split of each question, by the rules of the corpora that have one.

    open_schemas: returns the schemas of all databases, for rules by query.

    Raises:
        InputError: a rule by database or query finds only one of them; or as `refuse_crossing`.
    """
    splits = list(map(read_split, questions))
    for corpus, rule in rules.items():
        places = [
            question_index
            for question_index, question in enumerate(questions)
            if question["source"]["corpus"] == corpus
        ]
        if rule.by == SOURCE or not places:
            continue
        of_corpus = [questions[question_index] for question_index in places]
        if rule.by == QUERY:
            names = _name_queries(of_corpus, open_schemas())
        else:
            names = [question["database_name"] for question in of_corpus]
        if len(set(names)) == 1:
            raise InputError(
                f"corpora.{corpus}.split.by: {rule.by}: expected two or more to divide, found one"
                f" in {spell_count(len(names), 'question')}"
            )
        held_out = choose_held_out(set(names), eval_share=rule.eval_share, seed=rule.seed)
        for question_index, name in zip(places, names, strict=True):
            splits[question_index] = EVAL if name in held_out else TRAIN
    refuse_crossing(questions, splits, rules)
    return splits


def choose_held_out(names: Collection[str], *, eval_share: float, seed: int) -> set[str]:
    """Return the names for eval: about this share of them, but neither none nor all.

    >>> sorted(choose_held_out({"a", "b", "c", "d", "e", "f", "g"}, eval_share=0.3, seed=20))
    ['e', 'g']

    Each is drawn by its own hash, so that it stays in its split if other names are added.
    """
    places = {name: int.from_bytes(digest_text(f"{seed} {name}")) for name in names}
    ranked = sorted(names, key=lambda name: (places[name], name))
    drawn = sum(digest < eval_share * 2**_DIGEST_BITS for digest in places.values())
    return set(ranked[: min(max(drawn, 1), len(ranked) - 1)])


def _name_queries(questions: Iterable[SourceQuestion], schema_file: SchemaFile) -> list[str]:
    """Return canonical SQL of each question without its constants; if SQL does not parse, its text
    without them; and the question itself if it has no SQL."""
    from answerkey.sql.parsed_query import parse_query
    from answerkey.sql.query_form import strip_constants
    from answerkey.sql.query_tree import speaking

    schemas: dict[str, Schema] = {}
    known: dict[tuple[str, str], str] = {}
    names = []
    for question in questions:
        gold_sql, text = _read_original(question)
        key = database, _ = question["database_name"], gold_sql
        if key not in known:
            if database not in schemas:
                schemas[database] = schema_file[database]
            schema = schemas[database]
            with speaking(schema.engine):
                parsed = parse_query(gold_sql, schema)
            form = " ".join(gold_sql.split()) if "reason" in parsed else parsed["canonical_sql"]
            known[key] = strip_constants(form)
        names.append(known[key] or text)
    return names


def _read_original(question: SourceQuestion) -> tuple[str, str]:
    """Return query and text as in the corpus, so that a correction does not move a question to the
    other split, and changes no id."""
    note = question["source"].get("correction")
    original = {} if note is None else note.get("original", {})
    return (
        original.get("gold_sql", question["gold_sql"]),
        original.get("question_text", question["question_text"]),
    )

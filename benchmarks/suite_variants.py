"""What fuzzed databases reject where no gate says on which of them a gold answer counts."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from suite_predictions import Prediction, Question

from answerkey.sql.parser import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.files import open_database
from answerkey.sqlite.guard import GuardedDatabase
from answerkey.sqlite.schema import Schema, read_schema
from answerkey.suites.constants import list_constants
from answerkey.suites.fuzzer import RECIPES, Fuzzer
from answerkey.suites.questions import Executions, are_same
from answerkey.suites.readings import Reading, list_readings
from answerkey.suites.row_reading import read_rows
from answerkey.suites.rows import write_rows


def find_why_held(
    databases: Path, predictions: Sequence[Prediction], *, count: int
) -> dict[int, str | None]:
    """The places of the predictions that one of so many variants of their database tells from gold:
    with the reading that differs from gold on most of the variants that do, and None where there is
    a variant on which no reading does."""
    found: dict[int, str | None] = {}
    places = sorted(range(len(predictions)), key=lambda at: predictions[at].question.database_name)
    grouped = groupby(places, key=lambda place: predictions[place].question.database_name)
    for name, group in grouped:
        path = databases / name / f"{name}.sqlite"
        told = _ask_variants(path, {place: predictions[place] for place in group}, count)
        for place, readings in told.items():
            most = max(readings, key=lambda reading: readings[reading])
            found[place] = None if None in readings else most
    return found


def _ask_variants(
    path: Path, predictions: dict[int, Prediction], count: int
) -> dict[int, Counter[str | None]]:
    """By the place of a prediction: on how many variants it differs from gold, by the reading that
    differs, too; None for no reading."""
    questions = {each.question.question_id: each.question for each in predictions.values()}
    told: dict[int, Counter[str | None]] = {}
    with open_database(path) as connection:
        schema = read_schema(connection)
    with GuardedDatabase(path) as database:
        real = Executions(database)
        readings = {name: _read(each, real, schema) for name, each in questions.items()}
    rows = read_rows(path)
    constants = {
        constant
        for question in questions.values()
        for constant in list_constants(Scopes(parse_sql(question.gold_sql), schema))
        if constant[0] in rows.tables
    }
    recipes = sorted(RECIPES)
    with (
        tempfile.TemporaryDirectory() as folder,
        Fuzzer(rows, constants=sorted(constants, key=repr)) as fuzzer,
    ):
        for number in range(count):
            variant = Path(folder) / f"{number}.sqlite"
            recipe = recipes[number % len(recipes)]
            write_rows(fuzzer.make_variant(recipe, seed=number), variant)
            with GuardedDatabase(variant) as database:
                _compare(Executions(database), predictions, readings, told)
    return told


def _read(question: Question, real: Executions, schema: Schema) -> list[Reading]:
    """The readings that give gold's answer on the real database."""
    tree = parse_sql(question.gold_sql)
    gold = real.find_rows(question.gold_sql)
    return [
        reading
        for reading in list_readings(tree, schema, question.text, find_texts=real.find_texts)
        if are_same(gold, real.find_rows(reading.sql), ordered=question.order)
    ]


def _compare(
    variant: Executions,
    predictions: dict[int, Prediction],
    readings: dict[str, list[Reading]],
    told: dict[int, Counter[str | None]],
) -> None:
    for place, prediction in predictions.items():
        question = prediction.question
        gold, ordered = variant.find_rows(question.gold_sql), question.order is True
        rows = variant.find_rows(prediction.sql)
        if gold is None or are_same(gold, rows, ordered=ordered):
            continue
        names = (
            reading.name
            for reading in readings[question.question_id]
            if not are_same(gold, variant.find_rows(reading.sql), ordered=ordered)
        )
        told.setdefault(place, Counter())[next(names, None)] += 1

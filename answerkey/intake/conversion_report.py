"""What was kept of databases and questions, and what was lost: a report, and terminal lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from answerkey.base.log import make_printable, spell_count
from answerkey.base.records import encode_json
from answerkey.base.secrets import hide_secrets
from answerkey.engines.names import TITLES
from answerkey.intake.conversion import ConvertedTable
from answerkey.intake.dialects import ON_OTHER_ROWS, Translated
from answerkey.intake.engines import SQLITE
from answerkey.intake.questions import GivenQuestion, GivenQuestions
from answerkey.intake.sources import GivenDatabase
from answerkey.sections.corpora import SOURCE_SPLITS

REPORT = "conversion.md"
# What the terminal shows: kinds of losses, places of each, and characters of a question.
_SHOWN, _PLACES, _CHARACTERS = 12, 3, 120
_SHOWN_TYPES = 12
_TYPES = "`--types TABLE.COLUMN=TYPE` says otherwise"


_REFUSED = re.compile(r"(.+): ([a-z].+)", re.DOTALL)


@dataclass(slots=True)
class MadeDatabase:
    """A database of the corpus.

    tables: what became of each; of a file of SQLite those that it has.
    dialect: of its gold SQL; is_compared: whether that was executed where it was written for.
    differing: questions whose gold is another query in SQLite.
    variants: of the database, on which it was executed both there and here.
    queries: how many were executed, if it stays one of its engine.
    failing: those of them without an answer, and why.
    """

    source: GivenDatabase
    dialect: str
    is_compared: bool
    tables: list[ConvertedTable]
    notes: list[str]
    differing: list[tuple[GivenQuestion, Translated]] = field(default_factory=list)
    variants: int = 0
    queries: int = 0
    failing: list[tuple[GivenQuestion, str, str]] = field(default_factory=list)


def write_report(name: str, given: GivenQuestions, made: Iterable[MadeDatabase]) -> str:
    """The report of a corpus, in Markdown."""
    read = ", ".join(f"`{field}` as {role}" for role, field in given.fields.items())
    lines = [f"# The corpus {name}", ""]
    file = hide_secrets(given.path.name)
    lines += [f"{spell_count(len(given.questions), 'question')} of {file}: {read}.", ""]
    lines += [*(f"- {note}" for note in given.notes), ""] if given.notes else []
    for database in made:
        lines += _describe(database)
    return "\n".join(lines)


def _describe(made: MadeDatabase) -> list[str]:
    source = made.source
    place = hide_secrets(source.place)
    lines = [f"## {source.name}", "", f"{place}: {source.kind}.", ""]
    lines += [*(f"- {note}" for note in made.notes), ""] if made.notes else []
    if source.kept != SQLITE:
        lines += [*_describe_kept(made)]
    elif source.engine is None:
        lines += ["It is taken as it is, with its types, keys and rows.", ""]
    else:
        lines += [
            "Indexes, defaults and checks are left out: they change no answer.",
            "",
            "| table | rows | columns, each with its type there and in SQLite | keys |",
            "|---|---|---|---|",
        ]
        for table in made.tables:
            columns = ", ".join(_write_column(*column) for column in table.columns)
            keys = "; ".join(table.keys)
            lines.append(_escape(f"{table.name} ({table.kind})", table.rows, columns, keys))
        lines.append("")
        read = [f"- {table.name}: {words}" for table in made.tables for words in _explain(table)]
        if read:
            lines += [f"How they were read ({_TYPES}):", "", *read, ""]
        lost = [(table, words) for table in made.tables for words in table.lost]
        left_out = len(source.engine.tables) - len(made.tables)
        if left_out:
            lines += [f"{spell_count(left_out, 'table')} left out, as is said above.", ""]
        whole = "Nothing of the others is lost." if left_out else "Nothing of them is lost."
        lines += ["Lost:" if lost else whole, ""]
        lines += [f"- {table.name}: {words}" for table, words in lost] + [""] * bool(lost)
    if source.kept != SQLITE:
        lines += _describe_gold(made)
    elif made.dialect != SQLITE:
        how = "and executed there and here" if made.is_compared else "and executed nowhere else"
        how += f", on the database and on {_count_variants(made)}" if made.variants else ""
        lines += [f"Gold SQL is translated from {made.dialect}, {how}.", ""]
        if made.differing:
            lines += ["Set aside as `dialect_differs`:", ""]
            for question, gold in made.differing:
                lines.append(f"- {question.text}: {_say(gold)}")
                lines += ["", *(f"      {line}" for line in question.sql[0].splitlines()), ""]
    return lines


def _count_variants(made: MadeDatabase) -> str:
    return f"{spell_count(made.variants, 'variant')} of it with other rows"


def _describe_kept(made: MadeDatabase) -> Iterator[str]:
    yield f"It is a database of {TITLES[made.source.kept]}, with its types, keys, rows and views."
    yield ""
    yield "| table | rows | columns, each with its type | keys |"
    yield "|---|---|---|---|"
    for table in made.tables:
        columns = ", ".join(_write_column(*column) for column in table.columns)
        keys = "; ".join(table.keys)
        yield _escape(f"{table.name} ({table.kind})", table.rows, columns, keys)
    yield ""
    read = [f"- {table.name}: {words}" for table in made.tables for words in _explain(table)]
    if read:
        yield from (f"How they were read ({_TYPES}):", "", *read, "")


def _describe_gold(made: MadeDatabase) -> list[str]:
    lines = [f"Gold SQL is {TITLES[made.dialect]}, as it was written, and was executed once.", ""]
    if made.failing:
        lines += ["Queries without an answer:", ""]
        for question, sql, fault in made.failing:
            lines.append(f"- {question.text}: {fault}")
            lines += ["", *(f"      {line}" for line in sql.splitlines()), ""]
    return lines


def _explain(table: ConvertedTable) -> list[str]:
    guessed = [f"guessed types: {', '.join(table.guessed)}"] if table.guessed else []
    return [*table.remarks, *guessed, *table.warnings]


def _tell_reading(tables: Iterable[ConvertedTable]) -> list[str]:
    """The types that are guesses, and the first remarks on each table that somebody should see."""
    guessed = [f"{table.name}.{words}" for table in tables for words in table.guessed]
    lines = []
    if guessed:
        shown = ", ".join(guessed[:_SHOWN_TYPES])
        more = f", and {len(guessed) - _SHOWN_TYPES} more" if len(guessed) > _SHOWN_TYPES else ""
        lines.append(f"  guessed types: {shown}{more}; {_TYPES}")
    for table in tables:
        for words in table.warnings[:_SHOWN]:
            lines.append(f"  {table.name}: {words}")
        if len(table.warnings) > _SHOWN:
            lines.append(f"  {table.name}: {len(table.warnings) - _SHOWN} more in {REPORT}")
    return lines


def _write_column(name: str, kind: str, declared: str) -> str:
    return f"{name} {kind}" if declared in ("", kind) else f"{name} {kind} → {declared}"


def _escape(*cells: object) -> str:
    return "| " + " | ".join(" ".join(str(c).replace("|", r"\|").split()) for c in cells) + " |"


def _say(gold: Translated) -> str:
    """What is the matter with a query, in a line."""
    differs = gold.differs or {}
    if "error" in differs:
        return str(differs["error"])
    shown = ((where, encode_json(differs[where]).decode()) for where in ("there", "here"))
    return f"{differs['detail']}; " + ", ".join(f"{where} {rows:.120}" for where, rows in shown)


def tell_made(folder: Path, given: GivenQuestions, made: list[MadeDatabase]) -> str:
    """What was made, for the terminal."""
    splits = Counter(question.split for question in given.questions)
    counts = ", ".join(f"{splits[split]} {split}" for split in SOURCE_SPLITS if splits[split])
    read = ", ".join(f"{role} from {field}" for role, field in given.fields.items())
    lines = _tell_conversions(made)
    lines += [f"{spell_count(len(given.questions), 'question')} ({counts}): {read}"]
    lines += [f"  {note}" for note in given.notes]
    for database in made:
        tables = Counter(table.kind for table in database.tables)
        parts = [spell_count(count, kind) for kind, count in sorted(tables.items())]
        source = database.source
        lines.append(f"{source.name}: {source.kind} with {' and '.join(parts) or 'no table'}")
        lines += [f"  {note}" for note in database.notes]
        lines += _tell_reading(database.tables)
        lines += _tell_losses(database.tables)
        if source.kept != SQLITE:
            lines += _tell_failing(database)
        elif database.dialect != SQLITE:
            words = f"  gold SQL translated from {database.dialect}"
            words += ", executed there and here" if database.is_compared else ", and not compared"
            lines.append(f"{words}: {len(database.differing)} set aside as dialect_differs")
            lines += _tell_differing(database.differing)
            if database.variants:
                lines.append(f"    executed on the database, and on {_count_variants(database)}")
    lines.append(f"What was kept and lost: {folder / REPORT}")
    return "\n".join(lines)


def _tell_conversions(made: Iterable[MadeDatabase]) -> list[str]:
    """The first line, if databases of another engine become files of SQLite."""
    names = [
        f"{each.source.name} ({each.source.kind})"
        for each in made
        if each.source.engine is not None and each.source.kept == SQLITE
    ]
    words = f"Models will write SQLite: converted to it: {', '.join(names)}"
    return [words] if names else []


def _tell_failing(made: MadeDatabase) -> list[str]:
    """How many queries run, and a line for each reason why others do not."""
    kinds: dict[str, list[str]] = {}
    for question, _, fault in made.failing:
        kind, _, rest = fault.partition(": ")
        words = f"{question.text:.{_CHARACTERS}}: {rest:.{_CHARACTERS}}"
        kinds.setdefault(kind, []).append(words)
    failed = len(made.failing)
    lines = [
        f"  gold SQL is {TITLES[made.dialect]}, as it was written: {made.queries - failed} of"
        f" {spell_count(made.queries, 'query')} run"
    ]
    if failed and made.source.engine is not None:
        lines[0] += f"; --engine {SQLITE} converts the database"
    told = [f"    {len(words)} {kind}, as {words[0]}" for kind, words in kinds.items()]
    return [*lines, *_cut_lines(told, "kinds")]


def _tell_losses(tables: Iterable[ConvertedTable]) -> list[str]:
    """A line for each kind of loss, with how often it is there, and where first."""
    kinds: dict[str, tuple[int, list[str]]] = {}
    for table in tables:
        for words in table.lost:
            of_values = re.fullmatch(r"(\d+) of (.+?): (.+)", words)
            kind, count, place = words, 1, table.name
            if of_values:
                kind, count = of_values[3], int(of_values[1])
                place = f"{table.name}.{of_values[2]}"
            before, places = kinds.setdefault(kind, (0, []))
            kinds[kind] = (before + count, [*places, place])
    lines = [
        f"  lost: {count} of {_name_some(places)}: {kind}"
        for kind, (count, places) in kinds.items()
    ]
    return _cut_lines(lines, "kinds of losses")


def _tell_differing(differing: Sequence[tuple[GivenQuestion, Translated]]) -> list[str]:
    """A line for each way to differ, with how many questions have it, and the first of them."""
    kinds: dict[str, list[str]] = {}
    for question, gold in differing:
        kind, colon, rest = str((gold.differs or {}).get("error", "")).partition(": ")
        if not kind:
            kind, colon, rest = "gives other rows", ": ", _say(gold)
            if rest.startswith(ON_OTHER_ROWS):
                kind = f"answers otherwise {ON_OTHER_ROWS}"
                rest = rest.removeprefix(f"{ON_OTHER_ROWS}: ")
        refused = _REFUSED.fullmatch(rest) if kind == "cannot be translated" else None
        if refused:
            kind, rest = f"{kind}: {refused[2]}", refused[1]
        words = f"{question.text:.{_CHARACTERS}}{colon}{rest:.{_CHARACTERS}}"
        kinds.setdefault(kind, []).append(words)
    lines = [f"    {len(words)} {kind}, as {words[0]}" for kind, words in kinds.items()]
    return _cut_lines(lines, "kinds")


def _cut_lines(lines: list[str], noun: str) -> list[str]:
    return [make_printable(line) for line in lines[:_SHOWN]] + [
        f"  and {len(lines) - _SHOWN} more {noun}"
    ] * (len(lines) > _SHOWN)


def _name_some(places: Sequence[str]) -> str:
    named = list(dict.fromkeys(places))
    more = f" and {len(named) - _PLACES} more" if len(named) > _PLACES else ""
    return ", ".join(named[:_PLACES]) + more

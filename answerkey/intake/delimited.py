"""CSV and TSV, read as they stand: no row is skipped, and no value becomes another one.

    id,price,code           id INTEGER, price REAL, code TEXT
    1,129.90,0017           (1, 129.9, '0017')
    2,,0021                 (2, NULL, '0021')

Python's csv module reads the rows. The first line has the names, and a quote is `"`. A column is
text unless each of its values writes back as itself: 17 is an integer, 0017 is text. Such types are
guesses, which `TypeChoices` replaces. What cannot be read exactly is an error with file and line.
"""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.engines.schema import fold_name

ENDINGS = (".csv", ".tsv")

Cells = list[str | None]  # None: nothing stands there, not even quotes

_MARKS = (",", ";", "\t", "|")  # that may separate cells; the first wins a tie
_MARK_NAMES = {"\t": "a tab", " ": "a space"}
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\r\n])"?\s*', re.IGNORECASE)  # as Excel writes it
_BYTE_ORDER_MARKS = (  # that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_MAX_CELL_CHARS = 2**31 - 1  # Python's own limit is 131,072
_MAX_NAMED = 5  # names, lines or columns that a message lists
_MAX_SHOWN_CHARS = 40
_CHUNK_ROWS = 10_000

# --- text, cell by cell


class DelimitedText:
    """The rows of a file whose first line has names.

    encoding: as Python calls it; UTF-8, unless a byte order mark says otherwise.
    delimiter: what separates cells.
    header: the names, as they are written.
    """

    def __init__(self, path: Path) -> None:
        """Read the header.

        Raises:
            InputError: the file is empty, or its header cannot be read.
        """
        csv.field_size_limit(_MAX_CELL_CHARS)
        self.path = path
        self.encoding = find_encoding(path)
        self.names_delimiter = False
        self.delimiter = self._choose_delimiter()
        _, self.header, _ = next(self._parse(self.delimiter), (range(0), [], ""))
        if not self.header:
            raise InputError(f"{path}: line 1 is empty: expected a line of names")

    def read_rows(self) -> Iterator[tuple[range, Cells]]:
        """The rows after the header, each with its lines; `[]` is an empty line.

        Raises:
            InputError: a row has more values than the header has names, or cannot be read.
        """
        rows = self._parse(self.delimiter)
        next(rows)
        for lines, cells, raw in rows:
            if len(cells) > len(self.header):
                names = ", ".join(map(_show_name, self.header[:_MAX_NAMED]))
                names += ", ..." * (len(self.header) > _MAX_NAMED)
                words = f"{len(cells)} values, expected {len(self.header)}: {names}"
                raise self._fail(lines[0], f"{words} (separated by {self.describe_delimiter()})")
            if "" not in cells:
                yield lines, [*cells]
                continue
            quoted = _find_quoted(raw, self.delimiter) if '""' in raw else frozenset()
            yield lines, [cell or ("" if at in quoted else None) for at, cell in enumerate(cells)]

    def describe_delimiter(self) -> str:
        return _MARK_NAMES.get(self.delimiter, f"`{self.delimiter}`")

    def _choose_delimiter(self) -> str:
        """What a first line `sep=;` says, or a tab for .tsv. Otherwise it is what separates the
        names; if several could, the one for which most rows have as many cells as the header."""
        with self._open() as file:
            try:
                first = _SEPARATOR_LINE.fullmatch(file.readline())
            except UnicodeError as error:
                raise self._explain_encoding(error) from error
        self.names_delimiter = first is not None
        if first is not None:
            return first[1]
        if self.path.suffix.lower() == ".tsv":
            return "\t"
        widths = {mark: self._count_names(mark) for mark in _MARKS}
        able = [mark for mark, width in widths.items() if width > 1]
        if len(able) < 2:
            return able[0] if able else _MARKS[0]
        return min(able, key=lambda mark: (self._count_misfits(mark), -widths[mark]))

    def _count_names(self, delimiter: str) -> int:
        try:
            _, cells, _ = next(self._parse(delimiter), (range(0), [], ""))
        except InputError:
            return 0
        return len(cells)

    def _count_misfits(self, delimiter: str) -> float:
        rows = self._parse(delimiter)
        try:
            _, header, _ = next(rows)
            return sum(len(cells) not in (0, len(header)) for _, cells, _ in rows)
        except InputError:
            return math.inf

    def _open(self) -> TextIO:
        # Only CR and LF end a line; a text may hold any other character.
        return self.path.open(encoding=self.encoding, newline="")

    def _parse(self, delimiter: str) -> Iterator[tuple[range, list[str], str]]:
        """Each record with its lines and its text; the header is the first one."""
        with self._open() as file:
            lines = _Lines(file)
            if self.names_delimiter:
                next(lines)
            reader = csv.reader(lines, delimiter=delimiter, strict=True)
            ends = ""
            while True:
                lines.record.clear()
                start = lines.number + 1
                try:
                    cells = next(reader, None)
                except UnicodeError as error:
                    raise self._explain_encoding(error) from error
                except csv.Error as error:
                    raise self._fail(start, _explain_csv(error)) from error
                if cells is None:
                    return
                raw = "".join(lines.record)
                if "\0" in raw:
                    words = "a NUL byte: remove it, or save the file again, as UTF-8"
                    raise self._fail(start, words)
                end = raw[-1] if raw[-1] in "\r\n" else ends
                if ends and end != ends:
                    words = "a row ends with CR, and others with LF" if end == "\r" else ""
                    words = words or "a row ends with LF, and others with CR"
                    raise self._fail(start, f"{words}: put a text that has a line end in quotes")
                ends = end
                yield range(start, lines.number + 1), cells, raw

    def _fail(self, line: int, words: str) -> InputError:
        return InputError(f"{self.path}: line {line}: {words}")

    def _explain_encoding(self, error: UnicodeError) -> InputError:
        return explain_encoding(self.path, self.encoding) or InputError(f"{self.path}: {error}")


class _Lines:
    """The lines of a file, with the number of the last one, and those since `record` was empty."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.number = 0
        self.record: list[str] = []

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._file)
        self.number += 1
        self.record.append(line)
        return line


def find_encoding(path: Path) -> str:
    """The encoding of a text, in the words of Python: UTF-8, or as its byte order mark says."""
    with path.open("rb") as file:
        head = file.read(4)
    return next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), "utf-8")


def explain_encoding(path: Path, encoding: str) -> InputError | None:
    """What is wrong with the bytes of a text, with its line; None if they can be read."""
    content = path.read_bytes()
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        line = 1 + content[: error.start].decode(encoding, errors="replace").count("\n")
        name = encoding.removesuffix("-sig").upper()
        words = f"byte 0x{content[error.start]:02X} is not {name}"
        if not name.startswith("UTF-8"):
            return InputError(f"{path}: line {line}: {words}: save the file again, as UTF-8")
        return InputError(
            f"{path}: line {line}: {words}: save it as UTF-8, in Excel as `CSV UTF-8`, or by"
            f" `iconv -f WINDOWS-1252 -t UTF-8 {path.name}`, if it is from Windows"
        )
    return None


def _explain_csv(error: csv.Error) -> str:
    words = str(error)
    if words == "unexpected end of data":
        words = 'a quote (") opens here, and nothing closes it'
    elif words.endswith("""expected after '"'"""):
        words = 'a text goes on after its closing quote: inside of quotes, write "" for "'
    return f"expected CSV: {words}"


def _find_quoted(raw: str, delimiter: str) -> frozenset[int]:
    """The places of the cells of a record that stand in quotes.

    >>> sorted(_find_quoted('"",a,,"b,""c"".",', ","))
    [0, 3]
    """
    mark = re.escape(delimiter)
    cells = re.finditer(rf'("(?:[^"]|"")*"|[^{mark}\r\n]*)(?:{mark}|\r?\n|\r|\Z)', raw)
    return frozenset(at for at, cell in enumerate(cells) if cell[1].startswith('"'))


# --- types

TEXT, INTEGER, REAL, BOOLEAN = ("TEXT", "INTEGER", "REAL", "BOOLEAN")
DATE, TIME, DATETIME = ("DATE", "TIME", "DATETIME")
TYPES = (TEXT, INTEGER, REAL, BOOLEAN, DATE, TIME, DATETIME)

# How a column of numbers is written: all with two decimals, 1.5 beside 2, or 1.5 beside 2.0.
_FIXED, _SHORT, _FLOAT = ("fixed", "short", "float")
_WHOLE = frozenset((INTEGER, _SHORT))
_TYPE_OF = {
    **{INTEGER: INTEGER, _FIXED: REAL, _SHORT: REAL, _FLOAT: REAL},
    **{DATE: DATE, TIME: TIME, DATETIME: DATETIME},
}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.([0-9]+))?(?:e[-+][0-9]+)?")
_TIMES = {
    DATE: re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    TIME: re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{0,5}[1-9])?"),
    DATETIME: re.compile(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{0,5}[1-9])?"
    ),
}
_READ_TIME: dict[str, Callable[[str], date | time]] = {
    **{DATE: date.fromisoformat, TIME: time.fromisoformat, DATETIME: datetime.fromisoformat}
}
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
_NO_NUMBERS = ("nan", "inf", "-inf", "infinity", "-infinity")
_LOOKED_AT = 1000  # values of a column
_FLOAT_DIGITS = 15  # that every float holds


class _Guess:
    """How all values of a column may be written; nothing is left for a column of text.

    kinds: keys of `_TYPE_OF` that fit all values.
    misfit: the first value after which none is left, with its line.
    """

    __slots__ = ("alike", "count", "empty", "kinds", "misfit", "scale")

    def __init__(self) -> None:
        self.kinds = frozenset(_TYPE_OF)
        self.scale: int | None = None
        self.misfit: tuple[str, int] | None = None
        self.count = self.alike = self.empty = 0

    def add(self, value: str | None, line: int) -> None:
        if not value:
            self.empty += value is not None
            return
        self.count += 1
        if self.kinds:
            self.kinds &= self._find_kinds(value)
            if not self.kinds:
                self.misfit = (value, line)
        if self.count <= _LOOKED_AT:
            self.alike += bool(self.kinds) or _looks_typed(value)

    @property
    def looks_typed(self) -> bool:
        """Whether most of the first values look like numbers, times or truths."""
        return self.alike * 2 > min(self.count, _LOOKED_AT)

    @property
    def type(self) -> str:
        fitting = (kind for place, kind in _TYPE_OF.items() if place in self.kinds)
        return next(fitting, TEXT) if self.count else TEXT

    def _find_kinds(self, value: str) -> frozenset[str]:
        number = _NUMBER.fullmatch(value)
        if number is None:
            return frozenset(kind for kind in self.kinds & _TIMES.keys() if _is_time(value, kind))
        decimals = number[1]
        is_short = len(value) <= _FLOAT_DIGITS
        if decimals is None and is_short and value != "-0" and "e" not in value:
            return _WHOLE
        real = float(value)
        if real == 0 and value.startswith("-"):  # SQLite has no -0
            return frozenset()
        written = repr(real)
        kinds = set()
        if written == value:
            kinds.add(_FLOAT)
        if written.removesuffix(".0") == value:
            kinds.add(_SHORT)
        if value.removeprefix("-").isdigit() and _fits_integer(value):
            kinds.add(INTEGER)
        if decimals and is_short and "e" not in value:
            self.scale = len(decimals) if self.scale is None else self.scale
            if self.scale == len(decimals):
                kinds.add(_FIXED)
        return frozenset(kinds)


def _fits_integer(value: str) -> bool:
    return len(value) <= 20 and -(2**63) <= int(value) < 2**63


def _is_time(value: str, kind: str) -> bool:
    if _TIMES[kind].fullmatch(value) is None:
        return False
    try:
        _READ_TIME[kind](value)
    except ValueError:
        return False
    return True


def _looks_typed(value: str) -> bool:
    """Whether somebody may mean a number, a time or a truth by a text.

    >>> [_looks_typed(text) for text in ("03/04/2024", "12E3", "$ 5.00", "yes", "Sun 5 km", "a")]
    [True, True, True, True, False, False]
    """
    if len(value) > 40:
        return False
    if value.lower() in _BOOLEANS or value.lower() in _NO_NUMBERS:
        return True
    letters = sum(map(str.isalpha, value))
    return letters <= 2 and any(map(str.isdigit, value))


class ChosenType(NamedTuple):
    """A type that somebody said. form: how a time is written, as strptime has it."""

    type: str
    form: str | None = None


class TypeChoices:
    """Types of columns that somebody said, as TABLE.COLUMN=TYPE.

    >>> choices = TypeChoices(["bills.due=DATE:%d/%m/%Y", "bills.vip=boolean"])
    >>> choices.take("bills", "due"), choices.take("bills", "code")
    (ChosenType(type='DATE', form='%d/%m/%Y'), None)

    Raises:
        InputError: a text is not of this form.
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._choices = dict(map(_parse_choice, texts))
        self._known: list[str] = []

    def take(self, table: str, column: str) -> ChosenType | None:
        """What was said of a column."""
        self._known.append(f"{table}.{column}")
        return self._choices.get(self._known[-1])

    def check_all_taken(self) -> None:
        """
        Raises:
            InputError: a column was named that no table has.
        """
        unknown = self._choices.keys() - set(self._known)
        if unknown:
            names = ", ".join(self._known[:20]) + ", ..." * (len(self._known) > 20)
            words = f"expected one of {names}" if names else "no table is read from CSV or TSV"
            raise InputError(f"--types {', '.join(sorted(unknown))}: {words}")


def _parse_choice(text: str) -> tuple[str, ChosenType]:
    place, _, said = text.rpartition("=")
    kind, _, form = said.partition(":")
    kind = kind.upper()
    if not place or kind not in TYPES or (form and kind not in _TIMES):
        raise InputError(
            f"--types {text}: expected TABLE.COLUMN=TYPE, with one of {', '.join(TYPES)}, such as"
            " bills.code=TEXT, or bills.due=DATE:%d/%m/%Y"
        )
    return place, ChosenType(kind, form or None)


def _read_value(value: str, choice: ChosenType) -> Any:
    """A value of a type that somebody said.

    Raises:
        ValueError: it is none.
    """
    kind, form = choice
    if kind == TEXT:
        return value
    value = value.strip()
    if kind == BOOLEAN:
        if value.lower() not in _BOOLEANS:
            raise ValueError
        return _BOOLEANS[value.lower()]
    if kind == INTEGER:
        number = int(value) if value.isascii() and "_" not in value else 2**63
        if not -(2**63) <= number < 2**63:
            raise ValueError
        return number
    if kind == REAL:
        real = float(value) if value.isascii() and "_" not in value else math.inf
        if not math.isfinite(real):
            raise ValueError
        return real
    return _read_time(value, kind, form)


def _read_time(value: str, kind: str, form: str | None) -> str:
    if form is not None:
        moment = datetime.strptime(value, form)
    elif kind == DATE:
        moment = datetime.combine(date.fromisoformat(value), time())
    elif kind == TIME:
        moment = datetime.combine(date.min, time.fromisoformat(value))
    else:
        moment = datetime.fromisoformat(value)
    if moment.tzinfo is not None or re.search(r"[.,][0-9]{7}", value):  # Python cuts digits
        raise ValueError
    if kind == DATE:
        return moment.date().isoformat()
    return moment.time().isoformat() if kind == TIME else moment.isoformat(" ")


# --- tables


@dataclass(slots=True)
class DelimitedTable:
    """A table of a file of delimited text.

    names: of the columns; types: of `TYPES`.
    guessed: the columns whose type is no text, and was not said, as `price REAL`.
    warnings: what somebody may have meant otherwise.
    rows: as many as csv.reader finds.
    """

    text: DelimitedText
    names: list[str]
    types: list[str] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rows: int = 0
    _said: list[ChosenType | None] = field(default_factory=list)

    def describe(self) -> str:
        """What the file is, in words."""
        encoding = self.text.encoding.removesuffix("-sig").upper()
        rows = spell_count(self.rows, "row")
        return (
            f"{self.text.path.name} has {rows}, counted by Python's csv module, and all are here;"
            f" {self.text.describe_delimiter()} separates cells, and the text is {encoding}"
        )

    def read_chunks(self) -> Iterator[list[list[Any]]]:
        """The values of columns, some thousand rows at once."""
        readers = [
            self._choose_reader(*each)
            for each in zip(self.names, self.types, self._said, strict=True)
        ]
        columns: list[list[Any]] = [[] for _ in self.names]
        for lines, cells in _fill_rows(self.text):
            for values, read, cell in zip(columns, readers, cells, strict=True):
                values.append(None if cell is None else read(cell, lines[0]))
            if len(columns[0]) == _CHUNK_ROWS:
                yield columns
                columns = [[] for _ in self.names]
        yield columns

    def _choose_reader(
        self, name: str, kind: str, said: ChosenType | None
    ) -> Callable[[str, int], Any]:
        def read_said(cell: str, line: int) -> Any:
            if not cell and kind != TEXT:
                return None
            assert said is not None
            try:
                return _read_value(cell, said)
            except ValueError as error:
                place = f"{self.text.path}: line {line}: {_show_name(name)} is {_show_value(cell)}"
                form = f" written as {said.form}" * (said.form is not None)
                words = f"{place}: expected {said.type}{form}, as --types says"
                raise InputError(words) from error

        if said is not None:
            return read_said
        if kind == TEXT:
            return lambda cell, line: cell
        reader: Callable[[str], Any] = {INTEGER: int, REAL: float}.get(kind, str)
        return lambda cell, line: reader(cell) if cell else None


def _fill_rows(text: DelimitedText) -> Iterator[tuple[range, Cells]]:
    """The rows of a table: NULL for each value that is missing. An empty line is a row if there is
    one column, whose value it lacks, and none otherwise."""
    width = len(text.header)
    for lines, cells in text.read_rows():
        if cells or width == 1:
            yield lines, cells + [None] * (width - len(cells))


def read_table(path: Path, table: str, choices: TypeChoices | None = None) -> DelimitedTable:
    """Return a table with the types of its columns; its values are read when they are asked for.

    table: its name, by which types are said.

    Raises:
        InputError: the file cannot be read exactly, with the line.
    """
    text = DelimitedText(path)
    names, renamed = _name_columns(text.header)
    done = DelimitedTable(text, names)
    done._said = [choices.take(table, name) if choices else None for name in names]
    guesses = [_Guess() for _ in names]
    empty, short, broken = _Tally(), _Tally(), _Tally()
    for lines, cells in text.read_rows():
        if not cells:
            empty.add(lines[0])
            if len(names) > 1:
                continue
        elif len(cells) < len(names):
            short.add(lines[0])
        done.rows += 1
        if len(lines) > 1:
            broken.add(lines[0])
        for guess, cell in zip(guesses, cells, strict=False):
            guess.add(cell, lines[0])
    done.types = [
        said.type if said else guess.type for said, guess in zip(done._said, guesses, strict=True)
    ]
    columns = list(zip(names, done.types, done._said, guesses, strict=True))
    done.guessed = [
        f"{_show_name(name)} {kind}"
        for name, kind, said, _ in columns
        if kind != TEXT and said is None
    ]
    as_text = [
        f"{_show_name(name)} ({_show_value(guess.misfit[0])} in line {guess.misfit[1]})"
        for name, kind, said, guess in columns
        if kind == TEXT and said is None and guess.misfit and guess.looks_typed
    ]
    as_null = "which are no row" if len(names) > 1 else "each a row with NULL"
    quotes = [(name, kind, guess.empty) for name, kind, _, guess in columns if guess.empty]
    done.warnings = [
        *([f"text, which a type would change: {', '.join(as_text)}"] if as_text else []),
        *(["its first line says what separates cells"] if text.names_delimiter else []),
        *renamed,
        *empty.describe(f"empty lines, {as_null}"),
        *short.describe("rows with fewer values than names, where the others are NULL"),
        *broken.describe("rows with a line end in a cell"),
        *(
            f'{_show_name(name)}: {count} of "" are {"empty text" if kind == TEXT else "NULL"}'
            for name, kind, count in quotes
        ),
    ]
    return done


class _Tally:
    """How often something stands in a file, and the first lines of it."""

    def __init__(self) -> None:
        self.count = 0
        self.lines: list[int] = []

    def add(self, line: int) -> None:
        self.count += 1
        if len(self.lines) < _MAX_NAMED:
            self.lines.append(line)

    def describe(self, words: str) -> list[str]:
        if not self.count:
            return []
        places = ", ".join(map(str, self.lines)) + ", ..." * (self.count > len(self.lines))
        return [f"{words}: {self.count} (line {places})"]


def _name_columns(header: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names of columns, none of them empty or twice, and words on those that the file has
    otherwise.

    >>> _name_columns(["", "a ", "A"])[0]
    ['column_1', 'a', 'A_2']
    """
    names: list[str] = []
    taken: set[str] = set()
    for place, written in enumerate(header, start=1):
        name = wanted = written.strip() or f"column_{place}"
        number = 1
        while fold_name(name) in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(fold_name(name))
        names.append(name)
    changed = [
        f"column {place}, {_show_value(written)}, is called {_show_name(name)}"
        for place, (written, name) in enumerate(zip(header, names, strict=True), start=1)
        if written != name
    ]
    return names, changed


def _show_name(name: str) -> str:
    """A name for a line of text, whatever it holds."""
    shown = name if name.isprintable() else repr(name)
    return shown if len(shown) <= _MAX_SHOWN_CHARS else f"{shown[:_MAX_SHOWN_CHARS]}..."


def _show_value(value: str) -> str:
    return repr(value if len(value) <= _MAX_SHOWN_CHARS else f"{value[:_MAX_SHOWN_CHARS]}...")

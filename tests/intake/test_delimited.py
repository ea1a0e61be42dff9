"""CSV and TSV: what is in the file is in the database, or an error names file and line."""

from __future__ import annotations

import csv
import io
import shutil
import sqlite3
import tempfile
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.engines.schema import quote_name
from answerkey.intake.conversion import ConvertedTable
from answerkey.intake.delimited import TypeChoices, read_table
from answerkey.intake.engines import DuckDB
from answerkey.intake.whole_database import convert

duckdb = pytest.importorskip("duckdb", reason="needs the extra `convert`")


def make(*paths: Path, types: tuple[str, ...] = ()) -> tuple[dict[str, ConvertedTable], Path]:
    """The tables of a database of files, and its file of SQLite."""
    made = paths[0].parent / "made.sqlite"
    choices = TypeChoices(types)
    with closing(DuckDB.open_tables(paths, choices)) as engine:
        tables = {table.name: table for table in convert(engine, made)}
        assert engine.notes == []
    choices.check_all_taken()
    return tables, made


def fetch(path: Path, table: str = "t") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        place = quote_name(table)
        return connection.execute(f"SELECT * FROM {place} ORDER BY rowid").fetchall()


def read(folder: Path, content: str | bytes, name: str = "t.csv", **options: Any) -> list[Any]:
    """The rows of the table of a file, and what is said of it."""
    content = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(content)
    tables, made = make(folder / name, **options)
    (table,) = tables.values()
    return [fetch(made, table.name), table]


def write_back(value: Any, cell: str) -> str:
    """A value as the file has it, whose decimals a float does not know."""
    if not isinstance(value, float):
        return "" if value is None else str(value)
    decimals = len(cell.partition(".")[2])
    return next(
        (text for text in (repr(value), f"{value:.0f}", f"{value:.{decimals}f}") if text == cell),
        f"{value!r}, not {cell}",
    )


CELLS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
    st.text("0123456789.-+eE", max_size=6),
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=True).map(repr),
    st.decimals(-1000, 1000, places=2).map(str),
    st.datetimes().map(str),
    st.dates().map(str),
    st.times().map(str),
    st.sampled_from(
        ["", "NULL", "NaN", "yes", "T", "0017", "1_000", "+7", "0x1F", "12E3", "#1", '"', "'", "-0"]
    ),
)
ALIKE = st.sampled_from(
    [
        st.integers(-50, 50).map(str),
        st.decimals(-9, 9, places=2).map(str),
        st.floats(allow_nan=False).map(repr),
        st.dates().map(str),
        st.datetimes().map(str),
        CELLS,
    ]
)


@st.composite
def draw_columns(draw: st.DrawFn) -> list[list[str]]:
    """Rows of a table: each column alike, with a few cells of another kind."""
    count = draw(st.integers(0, 6))
    columns = []
    for _ in range(draw(st.integers(1, 4))):
        cells = draw(ALIKE)
        column = draw(st.lists(cells, min_size=count, max_size=count))
        for place in draw(st.sets(st.integers(0, 5), max_size=1)) & set(range(count)):
            column[place] = draw(CELLS)
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


@given(draw_columns(), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), st.data())
def test_each_cell_that_csv_writes_is_written_back(
    rows: list[list[str]], quoting: Any, data: st.DataObject
) -> None:
    width = len(rows[0]) if rows else 1
    header = [f"c{place}" for place in range(width)]
    name, mark = data.draw(st.sampled_from([("t.csv", ","), ("t.csv", ";"), ("t.tsv", "\t")]))
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=mark, quoting=quoting).writerows([header, *rows])
    with tempfile.TemporaryDirectory() as folder:
        found, table = read(Path(folder), text.getvalue().encode(encoding), name)
    assert table.rows == len(rows)
    assert [
        [write_back(*pair) for pair in zip(values, cells, strict=True)]
        for values, cells in zip(found, rows, strict=True)
    ] == rows


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["7", "-12", "0"], "INTEGER"),
        (["9223372036854775807", "-9223372036854775808"], "INTEGER"),
        (["129.90", "89.00"], "REAL"),
        (["0.5", "2", "-3.25"], "REAL"),
        (["0.5", "2.0", "1e-07", "0.30000000000000004"], "REAL"),
        (["2024-02-29", "0001-01-01", "9999-12-31"], "DATE"),
        (["2024-02-29 10:00:00", "2024-02-29 10:00:00.5"], "DATETIME"),
        (["23:59:59", "00:00:00"], "TIME"),
    ],
)
def test_values_that_write_back_have_a_type(tmp_path: Path, values: list[str], kind: str) -> None:
    rows, table = read(tmp_path, "\n".join(["c", *values]) + "\n")
    ((_, _, declared),) = table.columns
    assert (declared, table.guessed) == (kind, [f"c {kind}"])
    assert [write_back(row[0], value) for row, value in zip(rows, values, strict=True)] == values


@pytest.mark.parametrize(
    "values",
    [
        ["0017", "0021"],
        ["17", "021"],
        ["5E3", "12E3"],
        ["1e5", "2e5"],
        ["0x1F", "0b1"],
        ["10-11-12", "09-10-11"],
        ["03/04/2024", "05/06/2024"],
        ["2024-2-9", "2024-02-30"],
        ["2024-02-29T10:00:00", "2024-02-29 10:00"],
        ["2024-02-29 10:00:00Z", "2024-02-29 10:00:00+02"],
        ["2024-02-29 10:00:00.123456789"],
        ["2024-02-29 10:00:00.500"],
        ["24:00:00", "25:10:00"],
        ["2024-01-01", "2024-01-01 10:00:00"],
        ["+7", "7"],
        ["1_000", "2_000"],
        ["1,5", "2,5"],
        ["1 000", "2 000"],
        ["1.10", "1.9"],
        ["2.0", "2"],
        ["-0", "1"],
        ["-0.00", "1.00"],
        [".5", "5."],
        ["NaN", "1.5"],
        ["inf", "-inf"],
        ["1e400"],
        ["yes", "no"],
        ["T", "F"],
        ["true", "false"],
        ["NULL", "1"],
        ["NA", "1"],
        ["9223372036854775808", "1"],
        ["9" * 5000],
        ["12345678901234567.25", "0.1234567890123456789"],
        [" 7", "7 "],
        ["٣", "٤"],
        ["１２"],
        ["12%", "$5"],
        ["#1", "#2"],
        ["total: 11", "4"],
    ],
)
def test_values_that_a_type_would_change_stay_text(tmp_path: Path, values: list[str]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["c", "id"], *([value, "1"] for value in values)])
    rows, table = read(tmp_path, text.getvalue())
    assert [row[0] for row in rows] == values
    assert table.guessed == ["id INTEGER"]


def test_text_that_looks_like_numbers_or_times_is_told(tmp_path: Path) -> None:
    text = "lot,due,name,n\n12E3,03/04/2024,Ann,1\n7E10,05/06/2024,Bob 2,2\n,,7 of 9,n/a\n"
    _, table = read(tmp_path, text)
    (words,) = table.warnings
    assert words == (
        "text, which a type would change: lot ('12E3' in line 2), due ('03/04/2024' in line 2),"
        " n ('n/a' in line 4)"
    )


@pytest.mark.parametrize(
    ("content", "rows", "words"),
    [
        ("a,b,c\n1,x,y\n2,z\n", [(1, "x", "y"), (2, "z", None)], "NULL: 1 (line 3)"),
        (
            "a,b\n1,x\n\n2,y\n\n",
            [(1, "x"), (2, "y")],
            "empty lines, which are no row: 2 (line 3, 5)",
        ),
        ("a\nx\n\ny\n", [("x",), (None,), ("y",)], "empty lines, each a row with NULL: 1 (line 3)"),
        ("a,b\n# 1,x\n#2,y\n", [("# 1", "x"), ("#2", "y")], ""),
        ("a,b\n1,'x\n2,y'\n", [(1, "'x"), (2, "y'")], ""),
        ('a,b\n1,5" pipe\n', [(1, '5" pipe')], ""),
        (
            'a,b\n"1","x\n\r\ny, ""z"""\n',
            [(1, 'x\n\r\ny, "z"')],
            "rows with a line end in a cell: 1 (line 2)",
        ),
        ('a,b\nx,\ny,""\n', [("x", None), ("y", "")], 'b: 1 of "" are empty text'),
        ('a,b\nx,1\ny,""\n', [("x", 1), ("y", None)], 'b: 1 of "" are NULL'),
        ("a,b\r1,x\r2,y\r", [(1, "x"), (2, "y")], ""),
        ("a,b\r\n1,x\r\n2,y", [(1, "x"), (2, "y")], ""),
        ("a;b\n1;x,y\n2;z\n", [(1, "x,y"), (2, "z")], ""),
        ("a|b\n1|x;y\n", [(1, "x;y")], ""),
        ("a;x,b\n1,y\n2,z\n", [(1, "y"), (2, "z")], ""),
        ("b, c;a\nx;1\ny;2\n", [("x", 1), ("y", 2)], ""),
        ("sep=|\na;b|c\nx|1\n", [("x", 1)], "its first line says"),
        ('"sep=;"\r\na;b\r\nx;1\r\n', [("x", 1)], "its first line says"),
        (",a,a,A\n1,x,y,z\n", [(1, "x", "y", "z")], "column 1, '', is called column_1"),
        (" a, b\n1,x\n", [(1, "x")], "column 1, ' a', is called a"),
        ("a,b\n1, x \n", [(1, " x ")], ""),
        ("a,b\n1,x\u2028y\x0b\x0c\x85z\n", [(1, "x\u2028y\x0b\x0c\x85z")], ""),
        ("a,b\n1,\ufeffx\n", [(1, "\ufeffx")], ""),
        (f"a,b\n1,{'x' * 200_000}\n", [(1, "x" * 200_000)], ""),
        ("a,b\n", [], ""),
        ("a", [], ""),
    ],
)
def test_rows_are_read_as_they_stand(
    tmp_path: Path, content: str, rows: list[Any], words: str
) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        found, table = read(tmp_path, content.encode(encoding))
        assert found == rows
        assert words in "\n".join(table.warnings)
        assert table.rows == len(rows)
        (tmp_path / "made.sqlite").unlink()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,x\n2,y,z\n", r"line 3: 3 values, expected 2: a, b \(separated by `,`\)"),
        ("a,b\n1,x,\n", r"line 2: 3 values, expected 2"),
        ("Fleet of 2024\n\na,b\n1,x\n", r"line 3: 2 values, expected 1: Fleet of 2024"),
        ("# made today, by us;\na,b,c\n", r"line 2: 3 values, expected 2"),
        ('a,b\n1,"x\n2,y\n', r"line 2: expected CSV: a quote \(\"\) opens here, and nothing"),
        ('a,b\n1,"x" y\n', r"line 2: expected CSV: a text goes on after its closing quote"),
        ('a,b\n1,"x\\"y"\n', r"line 2: expected CSV: a text goes on after its closing quote"),
        ("a,b\n1,x\ry\n", r"line 2: a row ends with CR, and others with LF"),
        ("a,b\r1,x\n", r"line 2: a row ends with LF, and others with CR"),
        ("a,b\n1,x\x00y\n", r"line 2: a NUL byte"),
        ("a,b\n1,x\n".encode("utf-16-le"), r"line 1: a NUL byte"),
        ("a,b\n1,x\n2,Café\n".encode("cp1252"), r"line 3: byte 0xE9 is not UTF-8: save it as"),
        (b"\xff\xfea\x00,\x00b\x00\n\x00\x00\xd8", r"line 2: byte 0x00 is not UTF-16"),
        ("", r"line 1 is empty"),
        ("\na,b\n", r"line 1 is empty"),
    ],
)
def test_what_cannot_be_read_exactly_is_an_error_with_its_line(
    tmp_path: Path, content: str | bytes, words: str
) -> None:
    path = tmp_path / "ship.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError, match=rf"ship\.csv: {words}") as caught:
        read_table(path, "ship")
    assert "\n" not in str(caught.value)


def test_types_may_be_said(tmp_path: Path) -> None:
    text = "id,lot,due,at,vip,n\n1,17,3/4/2024,2024-02-29T10:00,yes,+7\n2,18,,,,\n"
    said = ("t.lot=TEXT", "t.due=DATE:%d/%m/%Y", "t.at=datetime", "t.vip=BOOLEAN", "t.n=REAL")
    rows, table = read(tmp_path, text, types=said)
    assert rows == [
        (1, "17", "2024-04-03", "2024-02-29 10:00:00", 1, 7.0),
        (2, "18", None, None, None, None),
    ]
    assert table.guessed == ["id INTEGER"]


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ("t.a=NUMBER", r"--types t\.a=NUMBER: expected TABLE\.COLUMN=TYPE, with one of TEXT"),
        ("a", r"expected TABLE\.COLUMN=TYPE"),
        ("t.a=INTEGER:%d", r"expected TABLE\.COLUMN=TYPE"),
        ("t.b=TEXT", r"--types t\.b: expected one of t\.a"),
        ("t.a=INTEGER", r"t\.csv: line 3: a is '1x': expected INTEGER, as --types says"),
        ("t.a=REAL", r"line 3: a is '1x': expected REAL"),
        ("t.a=BOOLEAN", r"line 3: a is '1x': expected BOOLEAN"),
        ("t.a=DATE:%d.%m.%Y", r"line 2: a is '1': expected DATE written as %d\.%m\.%Y"),
    ],
)
def test_types_that_cannot_be_are_told(tmp_path: Path, types: str, words: str) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n1x\n", encoding="utf-8")
    with pytest.raises(InputError, match=words):
        make(tmp_path / "t.csv", types=(types,))


@pytest.mark.parametrize(
    "name",
    ["t[1]", "a=77/t", "*", "t?", "{a,b}", "it's", 'say "t"', "a.b", "T 1", "main.rows"],
)
def test_name_of_a_file_is_a_name(tmp_path: Path, name: str) -> None:
    place = tmp_path / f"{name}.csv"
    place.parent.mkdir(exist_ok=True)
    place.write_text("id\n1\n", encoding="utf-8")
    columns = place.with_suffix("").with_name(place.stem + "_2.parquet")
    duckdb.sql("SELECT 2 AS id").write_parquet(str(tmp_path / "plain"))
    shutil.copy(tmp_path / "plain", columns)
    shutil.copy(tmp_path / "plain", columns.with_name("t1.parquet"))  # which a pattern would find
    tables, made = make(place, columns)
    assert list(tables) == [place.stem, columns.stem]
    assert [fetch(made, table) for table in tables] == [[(1,)], [(2,)]]
    assert [[column for column, *_ in table.columns] for table in tables.values()] == [["id"]] * 2


def test_names_of_parquet_that_are_one_for_sqlite_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": [1], "A": [2], "b": [3]}), path)
    tables, made = make(path)
    assert fetch(made) == [(1, 2, 3)]
    (words,) = tables["t"].warnings
    assert words.startswith("column 'A' is called A_1")


def test_parquet_that_is_none_is_told_by_its_name(tmp_path: Path) -> None:
    for content in (b"", b"PAR1" * 10, b"a,b\n1,2\n"):
        (tmp_path / "ship.parquet").write_bytes(content)
        with pytest.raises(InputError, match=r"ship\.parquet: expected a table: ") as caught:
            make(tmp_path / "ship.parquet")
        assert "answerkey-" not in str(caught.value)


@pytest.mark.parametrize(("digits", "is_read"), [(38, True), (39, False), (76, False)])
@pytest.mark.parametrize("is_nested", [False, True])
def test_decimals_of_parquet_that_would_be_floats_are_an_error(
    tmp_path: Path, digits: int, is_read: bool, is_nested: bool
) -> None:
    kind = pyarrow.decimal256(digits, 2) if digits > 38 else pyarrow.decimal128(digits, 2)
    number = Decimal("123456789012345678.91")
    array = pyarrow.array([[number]], pyarrow.list_(kind)) if is_nested else [number]
    table = pyarrow.table({"price": array if is_nested else pyarrow.array(array, kind)})
    path = tmp_path / "bill.parquet"
    pyarrow.parquet.write_table(table, path)
    if is_read:
        assert str(number) in fetch(make(path)[1], "bill")[0][0]
        return
    with pytest.raises(InputError, match=rf"bill\.parquet: column 'price.*{digits} digits"):
        make(path)


@pytest.mark.parametrize("is_cut", [True, False])
def test_times_of_parquet_that_are_cut_are_told(tmp_path: Path, is_cut: bool) -> None:
    path = tmp_path / "log.parquet"
    times = pyarrow.array([1_709_200_800_123_456_789], pyarrow.timestamp("ns"))
    table = pyarrow.table({"at": times, "n": [1]})
    pyarrow.parquet.write_table(table, path, use_deprecated_int96_timestamps=is_cut)
    tables, made = make(path)
    digits = "123456" if is_cut else "123456789"
    assert fetch(made, "log") == [(f"2024-02-29 10:00:00.{digits}", 1)]
    told = ["at: its times are of INT96, and have microseconds here; nanoseconds are cut"]
    assert tables["log"].warnings == told * is_cut


def test_nested_values_are_json_that_sqlite_reads(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    duckdb.sql(
        "SELECT ['nan'::DOUBLE, '-inf', 1.5] AS a, {'x': 'inf'::FLOAT} AS b,"
        """ ['NaN', 'say "Infinity"'] AS c"""
    ).write_parquet(str(path))
    tables, made = make(path)
    assert fetch(made) == [("[null,null,1.5]", '{"x":null}', '["NaN","say \\"Infinity\\""]')]
    assert [words.partition(":")[0] for words in tables["t"].lost] == ["1 of a", "1 of b"]


def test_table_of_too_many_columns_is_left_out_and_told(tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(2001)]
    for count in (2000, 2001):
        lines = (",".join(names[:count]), ",".join("1" for _ in names[:count]))
        (tmp_path / f"t{count}.csv").write_text("\n".join(lines), encoding="utf-8")
    paths = [tmp_path / "t2000.csv", tmp_path / "t2001.csv"]
    with closing(DuckDB.open_tables(paths)) as engine:
        (table,) = convert(engine, tmp_path / "made.sqlite")
    assert (table.name, len(table.columns), table.rows) == ("t2000", 2000, 1)
    (note,) = engine.notes
    assert note.startswith("main.t2001 is left out: it has 2,001 columns")

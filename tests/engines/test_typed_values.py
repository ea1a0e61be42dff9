"""Values as declared types store them: what each takes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.engines.typed_values import Kind, RefusedValueError, read_type

REFUSED = object()
UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"


@pytest.mark.parametrize(
    ("declared", "engine", "value", "stored"),
    [
        ("boolean", "postgres", "true", 1),
        ("BOOLEAN", "duckdb", 0, 0),
        ("boolean", "postgres", 2, REFUSED),
        ("smallint", "postgres", 32767, 32767),
        ("smallint", "postgres", 32768, REFUSED),
        ("INTEGER", "duckdb", "12", 12),
        ("INTEGER", "duckdb", 2.5, REFUSED),
        ("UTINYINT", "duckdb", -1, REFUSED),
        ("HUGEINT", "duckdb", "170141183460469231731687303715884105727", None),
        ("numeric(10,2)", "postgres", 2.505, 2.51),
        ("numeric(4,2)", "postgres", 100, REFUSED),
        ("numeric(12,0)", "postgres", 7, 7),
        ("numeric", "postgres", "0.12345678901234567", "0.12345678901234567"),
        ("DECIMAL(18,3)", "duckdb", "x", REFUSED),
        ("double precision", "postgres", 3, 3.0),
        ("REAL", "duckdb", "nan", REFUSED),
        ("character varying(3)", "postgres", "four", REFUSED),
        ("character varying(3)", "postgres", 12, "12"),
        ("VARCHAR(3)", "duckdb", "four", "four"),
        ("character(4)", "postgres", "ab", "ab  "),
        ("date", "postgres", "2020-02-30", REFUSED),
        ("DATE", "duckdb", "2020-02-29 10:00:00", "2020-02-29"),
        ("DATE", "duckdb", 2020, REFUSED),
        ("timestamp without time zone", "postgres", "2020-03-01", "2020-03-01 00:00:00"),
        ("TIMESTAMP WITH TIME ZONE", "duckdb", "2020-03-01 10:00:00+00", None),
        ("time", "postgres", "25:00", REFUSED),
        ("uuid", "postgres", UUID, UUID),
        ("uuid", "postgres", f"{UUID} 2", REFUSED),
        ("jsonb", "postgres", '{"a": 1}', '{"a": 1}'),
        ("JSON", "duckdb", "{a", REFUSED),
        ("ENUM('new', 'it''s')", "duckdb", "it's", "it's"),
        ("ENUM('new', 'it''s')", "duckdb", "old", REFUSED),
        ("integer[]", "postgres", "[1]", "[1]"),
        ("interval", "postgres", "1 day", "1 day"),
        ("DATE", "sqlite", "soon", "soon"),
    ],
)
def test_type_stores_a_value_or_refuses_it(
    declared: str, engine: str, value: Any, stored: Any
) -> None:
    """A stored value of None stands for the value as it is."""
    column_type = read_type(declared, engine)
    assert column_type.read(None) is None
    if stored is REFUSED:
        assert not column_type.takes(value)
        with pytest.raises(RefusedValueError):
            column_type.read(value)
        return
    read = column_type.read(value)
    assert read == (value if stored is None else stored)
    assert type(read) is type(value if stored is None else stored)


def test_labels_of_an_enum_come_from_its_engine() -> None:
    column_type = read_type("mood", "postgres", ("sad", "happy"))
    assert (column_type.takes("sad"), column_type.takes("angry")) == (True, False)
    assert read_type("mood", "postgres").kind is Kind.OTHER

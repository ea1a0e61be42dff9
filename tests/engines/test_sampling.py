"""A sample of a database that was read whole: some rows, and the rows that they refer to."""

from __future__ import annotations

from answerkey.engines.engine import RowSample, StoredTable, StoredTables
from answerkey.engines.references import Reference
from answerkey.engines.sampling import choose_sample
from answerkey.engines.schema import Column, ForeignKey, Table

ID = Column("id", "integer", True, 1)
PORT = Table("port", False, (ID,), (("id",),))
SHIP = Table(
    *("ship", False, (ID, Column("port_id", "integer", False, 0)), (("id",),)),
    foreign_keys=(ForeignKey(("port_id",), "port", ("id",)),),
)
STORED = StoredTables(
    (),
    (),
    (
        StoredTable("port", [(number,) for number in range(900)]),
        StoredTable("ship", [(number, number * 7 % 950) for number in range(5000)]),
    ),
)


def sample(max_rows: int, seed: int = 0) -> dict[str, StoredTable]:
    tables = {"port": PORT, "ship": SHIP}
    chosen = choose_sample(STORED, tables, RowSample(max_rows, seed))
    return {own.name: own for own in chosen.tables}


def test_rows_of_a_sample_refer_to_what_they_refer_to_in_the_database() -> None:
    chosen = sample(100)
    ports = {port for (port,) in chosen["port"].rows}
    assert all(100 <= len(own.rows) <= 300 for own in chosen.values())
    assert not any(own.is_whole for own in chosen.values())
    for ship, port in chosen["ship"].rows:
        assert port in (None, ship * 7 % 950)
        assert port in ports or port is None or port >= 900


def test_sample_is_the_same_for_a_seed_and_counts_all_rows() -> None:
    assert sample(100) == sample(100) != sample(100, seed=1)
    tables = {"port": PORT, "ship": SHIP}
    families = choose_sample(STORED, tables, RowSample(100)).families
    family = families[Reference("ship", (1,), "port", (0,))]
    assert (family.referred, family.parents) == (900, 900)
    assert family.children == sum(number * 7 % 950 < 900 for number in range(5000))

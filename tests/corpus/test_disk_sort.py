"""disk_sort: records come back in the order of their keys, and otherwise as they were."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from answerkey.corpus.disk_sort import DiskSort


def sort(pairs: list[tuple[bytes, dict[str, Any]]]) -> list[dict[str, Any]]:
    records = DiskSort()
    for key, record in pairs:
        records.add(key, record)
    return list(records)


@given(st.lists(st.tuples(st.binary(max_size=2), st.text(st.characters()))))
def test_order_is_that_of_a_stable_sort(pairs: list[tuple[bytes, str]]) -> None:
    keyed = [(key, {"text": text, "place": place}) for place, (key, text) in enumerate(pairs)]
    assert sort(keyed) == [record for _, record in sorted(keyed, key=lambda pair: pair[0])]


def test_records_that_fit_into_no_cache_are_sorted_too() -> None:
    keyed = [(b"%d" % (place % 7), {"place": place, "text": "x" * 9000}) for place in range(1000)]
    places = [record["place"] for record in sort(keyed)]
    assert places == sorted(range(1000), key=lambda place: (place % 7, place))


def test_no_record_gives_none() -> None:
    assert sort([]) == []

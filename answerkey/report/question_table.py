"""The table of questions: what its script reads, and the filters above it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from answerkey.core.explanations import EXPLANATIONS
from answerkey.core.question import DIFFICULTIES, SPLITS
from answerkey.core.records import hash_value
from answerkey.sqlite.answers import ANSWER_TYPES

Record = dict[str, Any]


def make_filters(
    rows: Sequence[Record], reasons: Mapping[str, int], flags: Mapping[str, int]
) -> list[Record]:
    """The filters of the table: a key, a name, and options in groups. Corpora are offered where
    the rows are of several."""
    corpora, databases = (sorted({row[key] for row in rows}) for key in ("corpus", "database"))

    def offer(key: str, name: str, *groups: tuple[str, Iterable[str]]) -> Record:
        return {
            "key": key,
            "name": name,
            "groups": [
                {"name": group, "options": [(value, value) for value in values]}
                for group, values in groups
            ],
        }

    return [
        *([offer("corpus", "Corpus", ("", corpora))] if len(corpora) > 1 else ()),
        offer("database", "Database", ("", databases)),
        offer("split", "Split", ("", SPLITS)),
        offer("difficulty", "Difficulty", ("", DIFFICULTIES)),
        offer("answer_type", "Answer type", ("", ANSWER_TYPES)),
        offer("outcome", "Outcome", ("", ("selected", "left out"))),
        offer(
            "code",
            "Reason or flag",
            ("Left out because of", sorted(code for code, count in reasons.items() if count)),
            ("In the dataset, flagged", sorted(code for code, count in flags.items() if count)),
        ),
    ]


def make_payload(rows: Sequence[Record], schemas: Mapping[str, Mapping[str, str]]) -> Record:
    """What the page's script reads: column names once, then the values of each row; and a name of
    the dataset, by its databases, that stays the same when questions change."""
    columns = list(rows[0]) if rows else []
    codes = sorted({code for row in rows for code, _ in row["findings"]})
    return {
        "columns": columns,
        "rows": [list(row.values()) for row in rows],
        "meanings": {code: EXPLANATIONS[code] for code in codes},
        "schemas": schemas,
        "dataset": hash_value(sorted({(row["corpus"], row["database"]) for row in rows}))[:12],
    }

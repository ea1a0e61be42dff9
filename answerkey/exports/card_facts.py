"""What the card and its Croissant twin say of a dataset: its name, licences, origin and files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from answerkey.exports.packed_files import PackedFiles
from answerkey.exports.parquet_files import WrittenFile

NAME = "Text-to-SQL questions with executed gold answers"
UNKNOWN_LICENSE = "other"  # the hub's word
# Keys of the targets by which no question is left out.
_NO_LIMITS = ("difficulty_shares_of", "tolerance", "min_questions")
_PIPELINE = """@software{answerkey,
  title = {Answerkey},
  author = {{The Answerkey developers}},
}"""


@dataclass(frozen=True, slots=True)
class CardFacts:
    """What a card is made of.

    licenses: of the corpora by their names in params; None: unknown.
    origin: sentences that say where questions and databases come from.
    files: those that exist, by split.
    packed: the databases, and those of test suites, where there are any.
    metrics: all counts of the run.
    targets: those that the selection had, by their names in params.
    languages, citations: of the corpora, each once.
    repo_id, version, date_published: as params have them.
    """

    licenses: Mapping[str, str | None]
    origin: tuple[str, ...]
    files: Mapping[str, WrittenFile]
    packed: Mapping[str, PackedFiles]
    metrics: Mapping[str, Any]
    targets: Mapping[str, Any]
    languages: tuple[str, ...]
    citations: tuple[str, ...]
    repo_id: str
    version: str
    date_published: str

    @property
    def size(self) -> int:
        """How many questions there are."""
        return sum(file.rows for file in self.files.values())

    @property
    def tables(self) -> dict[str, WrittenFile]:
        """All files, by their names without ending."""
        return {**self.files, **{kind: files.written for kind, files in self.packed.items()}}

    @property
    def bibtex(self) -> str:
        """What to cite: the pipeline, and the corpora that say how."""
        return "\n\n".join([_PIPELINE, *(citation.strip() for citation in self.citations)])

    @property
    def corpora(self) -> str:
        """The corpora in words."""
        names = [f"`{name}`" for name in self.licenses]
        return f"the corp{'us' if len(names) == 1 else 'ora'} {' and '.join(names)}"


def describe_origin(
    corpora: Mapping[str, Mapping[str, Any]], manifest: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Where questions and databases come from, as sentences: out of the corpora's entries in params
    and the manifest of the databases. A directory is not named: it is one of this machine.

    >>> corpora = {"zoo": {"origin": "directory", "questions": {"train": ["t.json"]}}}
    >>> origin = {"corpus": "zoo", "kind": "sql", "path": "pets/schema.sql"}
    >>> describe_origin(corpora, {"pets": {"origin": origin}})
    ['Questions: t.json of the corpus `zoo`.', 'Databases: 1 made from SQL text of `zoo`.']
    """
    sentences = [
        f"Questions: {_describe_questions(name, entry)}." for name, entry in corpora.items()
    ]
    counts = Counter(
        _describe_place(database["origin"]) + _describe_filling(database["origin"])
        for database in manifest.values()
    )
    parts = [f"{count} {place}" for place, count in sorted(counts.items())]
    return [*sentences, f"Databases: {', '.join(parts) or 'none'}."]


def _describe_questions(name: str, entry: Mapping[str, Any]) -> str:
    questions = entry["questions"]
    if entry["origin"] == "hub":
        return (
            f"the Hugging Face dataset `{questions['repo_id']}` at revision"
            f" `{questions['revision']}` (the corpus `{name}`)"
        )
    files = ", ".join(file for files in questions.values() for file in files)
    return f"{files} of the corpus `{name}`"


def _describe_place(origin: Mapping[str, str]) -> str:
    kind = origin["kind"]
    if kind == "sql":
        return f"made from SQL text of `{origin['corpus']}`"
    if kind == "file":
        return f"copied from `{origin['corpus']}`"
    if kind in ("archive", "files"):
        return f"from the Hugging Face repository `{origin['repo_id']}` at `{origin['revision']}`"
    raise ValueError(f"manifest: unknown kind of origin {kind!r}")


def _describe_filling(origin: Mapping[str, str]) -> str:
    rows = origin.get("fill_empty")
    return f", with invented rows where a table had less than {rows}" if rows else ""


def list_targets(
    targets: Mapping[str, Any], *, max_per_canonical_sql: int | None
) -> dict[str, Any]:
    """What limits how many questions are selected, of the keys of `select_questions` in params.

    >>> targets = {"eval_share": 0.3, "max_questions": None, "tolerance": 0.02}
    >>> list_targets(targets, max_per_canonical_sql=2)
    {'eval_share': 0.3, 'max_per_canonical_sql': 2}
    """
    known = {**targets, "max_per_canonical_sql": max_per_canonical_sql}
    return {
        name: value for name, value in known.items() if value is not None and name not in _NO_LIMITS
    }


def name_licenses(licenses: Iterable[str | None]) -> str | list[str]:
    """The hub's identifiers, each once: one alone, or a list; a licence that nobody knows is
    `other`.

    >>> name_licenses(["cc-by-4.0", None, "cc-by-4.0"])
    ['cc-by-4.0', 'other']
    """
    names = list(dict.fromkeys(license or UNKNOWN_LICENSE for license in licenses))
    return names[0] if len(names) == 1 else names

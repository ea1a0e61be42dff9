"""Describe the dataset: its card, and its files and fields as Croissant (JSON-LD).

The card is YAML for hubs and `datasets`, followed by `templates/card.md.j2`, which is filled with
the numbers of a run. Chats and the content of databases are no fields of Croissant.

Source: "Dataset cards" and "Manual configuration" in the Hub's documentation; the Croissant format
specification 1.0 of MLCommons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from jinja2 import Template

from answerkey.dataset import MAX_TABLE_BYTES, LeftOut
from answerkey.engines.names import SQLITE, TITLES
from answerkey.exports.huggingface import (
    CHAT,
    PACKED_COLUMNS,
    TEXT,
    TEXTS,
    PackedFiles,
    list_columns,
    spell_engine,
)
from answerkey.exports.row_files import WrittenFile
from answerkey.flags import EXPLANATIONS
from answerkey.sections.corpora import DATABASE

Record = dict[str, Any]

NAME = "Text-to-SQL questions with executed gold answers"
QUESTIONS = "default"  # the configuration with the questions
# Keys of targets that leave out no question.
_NO_LIMITS = ("difficulty_shares_of", "tolerance", "min_questions")
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
# The origin of a database in words, by its kind in the manifest.
_PLACES = {
    "sql": "made from SQL text of `{corpus}`",
    "file": "copied from `{corpus}`",
    **dict.fromkeys(
        ("archive", "files"), "from the Hugging Face repository `{repo_id}` at `{revision}`"
    ),
}
_PIPELINE = """@software{answerkey,
  title = {Answerkey},
  author = {{The Answerkey developers}},
}"""


@dataclass(frozen=True, slots=True)
class CardFacts:
    """The facts for a card, under the names of params, manifest and metrics.

    files: the files that exist, by split; packed: the databases, and those of test suites.
    bar: how many questions to train on a reward, and a fine-tuning on gold SQL, should not use.
    has_clock: whether the corpus of any question has one.
    is_widened: whether databases have tables of others.
    engines: of the databases of the questions.
    """

    corpora: Mapping[str, Mapping[str, Any]]
    origins: list[Mapping[str, str]]
    files: Mapping[str, WrittenFile]
    packed: Mapping[str, PackedFiles]
    metrics: Mapping[str, Any]
    bar: LeftOut
    targets: Mapping[str, Any]
    repo_id: str
    version: str
    date_published: str
    has_clock: bool = False
    is_widened: bool = False
    engines: tuple[str, ...] = (SQLITE,)

    @property
    def size(self) -> int:
        """Return the number of questions."""
        return sum(file.rows for file in self.files.values())

    @property
    def tables(self) -> dict[str, WrittenFile]:
        """Return all files, by their names without suffix."""
        return {**self.files, **{kind: files.written for kind, files in self.packed.items()}}

    @property
    def max_bytes(self) -> int | None:
        """Return the size that `answerkey.load` must be allowed to unpack, if above its default."""
        largest = max(
            (kind.total_bytes for kind in self.packed.values() if kind.has_content), default=0
        )
        return largest if largest > MAX_TABLE_BYTES else None

    @property
    def license(self) -> str | list[str]:
        """Return the hub's identifiers, each once; an unknown licence is `other`."""
        names = [*dict.fromkeys(corpus["license"] or "other" for corpus in self.corpora.values())]
        return names[0] if len(names) == 1 else names

    @property
    def rules(self) -> dict[str, Mapping[str, Any]]:
        """Return the rules by which corpora were split, for those that did not keep their own."""
        return {name: corpus["split"] for name, corpus in self.corpora.items() if "split" in corpus}

    @property
    def may_cross(self) -> bool:
        """Return whether a database may be in both splits."""
        return any(rule["by"] != DATABASE for rule in self.rules.values())

    @property
    def columns(self) -> dict[str, tuple[str, str]]:
        """Return the columns of a table of questions: their types and meanings."""
        columns = list_columns(has_clock=self.has_clock, engines=self.engines)
        if self.may_cross:
            columns |= {"split": (TEXT, "train or eval; a database may be in both")}
        return columns

    @property
    def engine(self) -> str:
        """Return the engine in words."""
        return spell_engine(self.engines)

    @property
    def file(self) -> str:
        """Return what the files of databases are, in words."""
        if self.engines == (SQLITE,):
            return "SQLite file"
        return "file" if SQLITE in self.engines else "SQL text"

    @property
    def explanations(self) -> dict[str, str]:
        """Return what reasons and flags mean; those that name SQLite name the engine."""
        return {code: text.replace("SQLite", self.engine) for code, text in EXPLANATIONS.items()}

    @property
    def bibtex(self) -> str:
        """Return the citations: the pipeline, and the corpora that have one."""
        return "\n\n".join([_PIPELINE, *map(str.strip, self.list_values("citation"))])

    def list_values(self, key: str) -> list[str]:
        """Return the values of the corpora under a key, each once, if they have it."""
        values = dict.fromkeys(corpus[key] for corpus in self.corpora.values())
        return [value for value in values if value]


def make_card(facts: CardFacts, template: Template) -> str:
    """Return README.md of the dataset: YAML, then a datasheet."""
    text = template.render(
        facts=facts,
        columns=facts.columns,
        explanations=facts.explanations,
        name=NAME,
        places=sorted(
            Counter(_PLACES[origin["kind"]].format(**origin) for origin in facts.origins).items()
        ),
        targets={
            name: value
            for name, value in facts.targets.items()
            if value is not None and name not in _NO_LIMITS
        },
    )
    return f"---\n{make_front_matter(facts)}---\n{text}\n"


def make_front_matter(facts: CardFacts) -> str:
    """Return the YAML. A table without rows is left out: load_dataset fails on one."""
    configs = {QUESTIONS: (facts.columns, facts.files)} if facts.files else {}
    configs |= {
        kind: (PACKED_COLUMNS[kind], {"files": packed.written})
        for kind, packed in facts.packed.items()
    }
    size = next((name for most, name in _SIZES.items() if facts.size < most), "n>1M")
    engines = [TITLES[engine].lower() for engine in facts.engines]
    card: dict[str, object] = {
        "language": facts.list_values("language"),
        "license": facts.license,
        "size_categories": [size],
        "task_categories": ["table-question-answering", "text-generation"],
        "pretty_name": NAME,
        "tags": ["text-to-sql", "sql", *engines, "reinforcement-learning"],
    }
    if configs:
        card["configs"] = [
            {
                "config_name": name,
                **({"default": True} if name == QUESTIONS else {}),
                "data_files": [
                    {"split": split, "path": f"{split if name == QUESTIONS else name}.parquet"}
                    for split in files
                ],
            }
            for name, (_, files) in configs.items()
        ]
        card["dataset_info"] = [_make_info(name, *config) for name, config in configs.items()]
    return yaml.safe_dump(card, sort_keys=False, allow_unicode=True)


def _make_info(
    name: str, columns: Mapping[str, tuple[str, str]], files: Mapping[str, WrittenFile]
) -> dict[str, Any]:
    return {
        "config_name": name,
        "features": [_make_feature(column, kind) for column, (kind, _) in columns.items()],
        "splits": [
            {"name": split, "num_bytes": file.size_bytes, "num_examples": file.rows}
            for split, file in files.items()
        ],
        "download_size": sum(file.file_bytes for file in files.values()),
        "dataset_size": sum(file.size_bytes for file in files.values()),
    }


def _make_feature(name: str, kind: str) -> dict[str, Any]:
    if kind == CHAT:
        fields = [{"name": field, "dtype": "string"} for field in ("role", "content")]
        return {"name": name, "list": fields}
    return {"name": name, "list": "string"} if kind == TEXTS else {"name": name, "dtype": kind}


# The hub recognizes a benchmark by this file. Its tasks are those of Harbor
# (answerkey.environments.tasks): of the frameworks that the hub lists, it is the one that executes
# SQL.
#
# Source: "Eval.yaml specification" in the documentation of the hub (docs/hub/eval-results.md).
BENCHMARK = f"""\
name: {NAME}
description: >
  A query is right if it gives the gold answer on its database and on its test suite.
evaluation_framework: harbor
tasks:
  - id: text_to_sql
    config: {QUESTIONS}
    split: eval
"""


# Croissant: the dataset as JSON-LD for search engines and loaders.


# The context that the specification prescribes, in its order.
_TERMS = (
    "citeAs",
    "column",
    "extract",
    "field",
    "fileObject",
    "fileProperty",
    "fileSet",
    "format",
    "includes",
    "isLiveDataset",
    "jsonPath",
    "key",
    "md5",
    "parentField",
    "path",
    "recordSet",
    "references",
    "regex",
    "repeated",
    "replace",
    "samplingRate",
    "separator",
    "source",
    "subField",
    "transform",
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{term: f"cr:{term}" for term in _TERMS},
}
_TYPES = {
    "string": "sc:Text",
    "int64": "cr:Int64",
    "float64": "cr:Float64",
    "bool": "sc:Boolean",
    TEXTS: "sc:Text",
}


def make_croissant(facts: CardFacts) -> Record:
    """Return the metadata: a file object and a record set for each Parquet file."""
    columns = {**dict.fromkeys(facts.files, facts.columns), **PACKED_COLUMNS}
    names, ending = " and ".join(facts.corpora), "us" if len(facts.corpora) == 1 else "ora"
    plural = "" if facts.size == 1 else "s"
    return {
        "@context": dict(sorted(_CONTEXT.items())),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "-".join(["answerkey", *facts.corpora]),
        "description": f"{NAME}: {facts.size} question{plural} of the corp{ending} {names}.",
        "license": facts.license,
        "citeAs": facts.bibtex,
        "version": facts.version,
        "datePublished": facts.date_published,
        "distribution": [_make_file(name, file) for name, file in facts.tables.items()],
        "recordSet": [_make_record_set(name, columns[name]) for name in facts.tables],
    }


def _make_file(name: str, file: WrittenFile) -> Record:
    return {
        "@type": "cr:FileObject",
        "@id": f"{name}.parquet",
        "name": f"{name}.parquet",
        "contentUrl": f"{name}.parquet",
        "contentSize": f"{file.file_bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _make_record_set(table: str, columns: Mapping[str, tuple[str, str]]) -> Record:
    key = "question_id" if "question_id" in columns else "path"
    fields = (_make_field(table, name, *column) for name, column in columns.items())
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "key": {"@id": f"{table}/{key}"},
        "field": [field for field in fields if field],
    }


def _make_field(table: str, name: str, kind: str, meaning: str) -> Record | None:
    if kind not in _TYPES:
        return None
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{name}",
        "name": name,
        "description": meaning,
        "dataType": _TYPES[kind],
        **({"repeated": True} if kind == TEXTS else {}),
        "source": {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": name}},
    }

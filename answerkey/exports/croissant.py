"""Croissant: the dataset's files and fields as JSON-LD that search engines and loaders read.

Chats and the content of databases are no fields of it: it has no type for either.

Source: the Croissant format specification 1.0 of MLCommons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from answerkey.exports.card import NAME, CardFacts
from answerkey.exports.huggingface import COLUMNS, PACKED_COLUMNS, TEXTS
from answerkey.exports.parquet_files import WrittenFile

Record = dict[str, Any]

# The context that the specification prescribes, in its order.
_TERMS = (
    *("citeAs", "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
    *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source"),
    *("subField", "transform"),
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
    """The metadata: a file object and a record set for each Parquet file."""
    columns = {**dict.fromkeys(facts.files, COLUMNS), **PACKED_COLUMNS}
    names, ending = " and ".join(facts.corpora), "us" if len(facts.corpora) == 1 else "ora"
    return {
        "@context": dict(sorted(_CONTEXT.items())),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "-".join(["answerkey", *facts.corpora]),
        "description": f"{NAME}: {facts.size} questions of the corp{ending} {names}.",
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
        "source": {
            "fileObject": {"@id": f"{table}.parquet"},
            "extract": {"column": name},
        },
    }

"""Croissant: the dataset's files and fields as JSON-LD that search engines and loaders read.

Chats and the content of databases are no fields of it: it has no type for either.

Source: the Croissant format specification 1.0 of MLCommons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from datasets import Value

from answerkey.exports.card import NAME, CardFacts, name_licenses
from answerkey.exports.huggingface import COLUMNS
from answerkey.exports.packed_files import COLUMNS as PACKED_COLUMNS
from answerkey.exports.parquet_files import WrittenFile

Record = dict[str, Any]

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {
    "string": "sc:Text",
    "int64": "cr:Int64",
    "float64": "cr:Float64",
    "bool": "sc:Boolean",
}


def make_croissant(facts: CardFacts) -> Record:
    """The metadata: a file object and a record set for each Parquet file."""
    columns = {**dict.fromkeys(facts.files, COLUMNS), **PACKED_COLUMNS}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "-".join(["answerkey", *facts.licenses]),
        "description": f"{NAME}: {facts.size} questions of {facts.corpora.replace('`', '')}.",
        "license": name_licenses(facts.licenses.values()),
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


def _make_record_set(table: str, columns: Mapping[str, tuple[Any, str]]) -> Record:
    key = "question_id" if "question_id" in columns else "path"
    fields = (_make_field(table, name, *column) for name, column in columns.items())
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "key": {"@id": f"{table}/{key}"},
        "field": [field for field in fields if field],
    }


def _make_field(table: str, name: str, kind: Any, meaning: str) -> Record | None:
    value = getattr(kind, "feature", kind)
    if not isinstance(value, Value) or value.dtype not in _TYPES:
        return None
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{name}",
        "name": name,
        "description": meaning,
        "dataType": _TYPES[value.dtype],
        **({} if value is kind else {"repeated": True}),
        "source": {
            "fileObject": {"@id": f"{table}.parquet"},
            "extract": {"column": name},
        },
    }

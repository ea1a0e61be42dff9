"""Croissant: the dataset's files and fields as JSON-LD that search engines and loaders read.

Source: the Croissant format specification 1.0 of MLCommons.
"""

from __future__ import annotations

from typing import Any

from datasets import List, Value

from answerkey.exports.card_facts import NAME, CardFacts, name_licenses
from answerkey.exports.huggingface import COLUMNS
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
    """The metadata: a file object and a record set for each split."""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "-".join(["answerkey", *facts.licenses]),
        "description": f"{NAME}: {facts.size} questions of {facts.corpora.replace('`', '')}.",
        "license": name_licenses(facts.licenses.values()),
        "distribution": [_make_file(split, file) for split, file in facts.files.items()],
        "recordSet": [_make_record_set(split) for split in facts.files],
    }


def _make_file(split: str, file: WrittenFile) -> Record:
    return {
        "@type": "cr:FileObject",
        "@id": f"{split}.parquet",
        "name": f"{split}.parquet",
        "contentUrl": f"{split}.parquet",
        "contentSize": f"{file.file_bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _make_record_set(split: str) -> Record:
    return {
        "@type": "cr:RecordSet",
        "@id": split,
        "name": split,
        "key": {"@id": f"{split}/question_id"},
        "field": [_make_field(split, name, *column) for name, column in COLUMNS.items()],
    }


def _make_field(split: str, name: str, kind: List | Value, meaning: str) -> Record:
    is_list = isinstance(kind, List)
    return {
        "@type": "cr:Field",
        "@id": f"{split}/{name}",
        "name": name,
        "description": meaning,
        "dataType": _TYPES[kind.feature.dtype if is_list else kind.dtype],
        **({"repeated": True} if is_list else {}),
        "source": {
            "fileObject": {"@id": f"{split}.parquet"},
            "extract": {"column": name},
        },
    }

"""The YAML of a dataset card, which hubs and `datasets` read, written by the hub's own library.

Source: "Dataset cards" and "Manual configuration" in the Hub's documentation.
"""

from __future__ import annotations

from collections.abc import Mapping

from datasets import DatasetInfo, Features, SplitDict, SplitInfo
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCardData

from answerkey.exports.card_facts import NAME, CardFacts, name_licenses
from answerkey.exports.huggingface import FEATURES
from answerkey.exports.packed_files import FEATURES as PACKED_FEATURES
from answerkey.exports.parquet_files import WrittenFile

TAGS = ("text-to-sql", "sql", "sqlite", "reinforcement-learning")
QUESTIONS = "default"  # the configuration with the questions
FILES_SPLIT = "files"  # of the configurations with files

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def make_front_matter(facts: CardFacts) -> str:
    """The YAML. A table without rows is left out: load_dataset fails where one has none."""
    configs = _list_configs(facts)
    infos = DatasetInfosDict(
        {name: _make_info(*config, name=name) for name, config in configs.items()}
    )
    card = DatasetCardData(
        pretty_name=NAME,
        license=name_licenses(facts.licenses.values()),
        language=list(facts.languages),
        task_categories=["table-question-answering", "text-generation"],
        tags=list(TAGS),
        size_categories=[next((name for most, name in _SIZES if facts.size < most), "n>1M")],
    )
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
        infos.to_dataset_card_data(card)
    return card.to_yaml(line_break="\n") + "\n"


def _list_configs(facts: CardFacts) -> dict[str, tuple[Features, Mapping[str, WrittenFile]]]:
    """The columns and the files by split, by the name of their configuration."""
    questions = {QUESTIONS: (FEATURES, facts.files)} if facts.files else {}
    files = {
        kind: (PACKED_FEATURES[kind], {FILES_SPLIT: packed.written})
        for kind, packed in facts.packed.items()
    }
    return questions | files


def _make_info(features: Features, files: Mapping[str, WrittenFile], *, name: str) -> DatasetInfo:
    """The columns and the sizes, as `datasets` writes them into a card."""
    splits = {
        split: SplitInfo(split, num_bytes=file.size_bytes, num_examples=file.rows)
        for split, file in files.items()
    }
    return DatasetInfo(
        config_name=name,
        features=features,
        splits=SplitDict(splits),
        download_size=sum(file.file_bytes for file in files.values()),
        dataset_size=sum(file.size_bytes for file in files.values()),
    )

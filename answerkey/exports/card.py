"""The dataset card: YAML that hubs and `datasets` read, and a datasheet in words, both from the
numbers of a run.

Source: "Dataset cards" and "Manual configuration" in the Hub's documentation.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from datasets import DatasetInfo, Features, List, SplitDict, SplitInfo
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCardData

from answerkey.exports.huggingface import CHAT, COLUMNS, FEATURES
from answerkey.exports.packed_files import DATABASES, TEST_SUITES, PackedFiles
from answerkey.exports.packed_files import FEATURES as PACKED_FEATURES
from answerkey.exports.parquet_files import WrittenFile
from answerkey.flags import EXPLANATIONS
from answerkey.records import SPLITS

Record = dict[str, Any]

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


def describe_origin(corpora: Mapping[str, Record], manifest: Mapping[str, Record]) -> list[str]:
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


TAGS = ("text-to-sql", "sql", "sqlite", "reinforcement-learning")
QUESTIONS = "default"  # the configuration with the questions
FILES_SPLIT = "files"  # of the configurations with files

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def make_front_matter(facts: CardFacts) -> str:
    """The YAML. A table without rows is left out: load_dataset fails on one."""
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


_LOADING = """\
```python
from datasets import load_dataset

questions = load_dataset("{repo_id}", split="{split}")
print(questions[0]["question_text"], questions[0]["gold_sql"])
```

`prompt` and `completion` are chats, which TRL's `SFTTrainer` and `GRPOTrainer` read. `SFTTrainer`
cuts them at 1,024 tokens, where its `max_length` does not say more. A reward executes predictions,
and so needs the databases: `answerkey.load` (`pip install 'answerkey[load]'`) gives the questions
and the folders that a reward asks for.

```python
import answerkey
from answerkey.reward import RewardPool

loaded = answerkey.load("{repo_id}", split="{split}"{options})
batch = {{name: [row[name] for row in loaded.questions[:8]] for name in loaded.questions[0]}}
with RewardPool(workers=2, **loaded.folders) as pool:
    print(pool.score_completions(batch.pop("completion"), **batch))
```

It prints 1.0 for each gold query. `pool.score_completions` is a reward function of `GRPOTrainer`
(`reward_funcs=pool.score_completions`, `train_dataset=questions`).
"""
_MEANINGS = {
    DATABASES: "the databases of the questions",
    TEST_SUITES: "the small databases of their test suites",
}


def _tell_loading(facts: CardFacts) -> str:
    """Return snippets that load the questions and score their gold SQL, and run as they stand."""
    options = "".join(
        f', {kind}="data/{kind}"' for kind, files in facts.packed.items() if not files.has_content
    )
    split = next(iter(facts.files))
    return _LOADING.format(repo_id=facts.repo_id, split=split, options=options).strip()


def _tell_files(facts: CardFacts) -> str:
    """Each file, its size and what it holds."""
    told = {split: f"{file.rows} questions" for split, file in facts.files.items()}
    told |= {kind: _tell_packed(kind, files) for kind, files in facts.packed.items()}
    lines = [
        f"- `{name}.parquet` ({facts.tables[name].file_bytes:,} bytes): {text}."
        for name, text in told.items()
    ]
    return "\n".join(lines) or "None."


def _tell_packed(kind: str, files: PackedFiles) -> str:
    rows, total = files.written.rows, files.total_bytes
    words = f"{rows} rows, one for each of {_MEANINGS[kind]}"
    words += ", with its CREATE statements" if kind == DATABASES else ""
    if files.has_content:
        return f"{words}, and the SQLite file itself ({total:,} bytes in all, unpacked)"
    return (
        f"{words}, and its checksum. The SQLite files, of {total:,} bytes in all, are not in this"
        f" dataset: take them from the repository that made it (`dvc pull data/{kind}`)"
    )


_PURPOSE = (
    "Reinforcement learning and evaluation on text-to-SQL: the rows that a predicted query returns"
    " are compared with `gold_answer`. It is no source of facts: what its databases hold need not"
    " be true."
)
_LIMITS = (
    "Gold SQL that runs and passes the audit may still not be what its question asks for.",
    "Another query than the gold one may be right and have another answer where the question leaves"
    " open what to return: the audit finds many such questions, and not all.",
    "The last digits of sums over floats may differ between versions of SQLite: compare floats"
    " within a tolerance, as `answerkey.reward` does.",
    "A form of SQL may stand in both splits (flag `template_in_both_splits`); no database does.",
    "SQL is in SQLite's dialect.",
)


def make_card(facts: CardFacts) -> str:
    """README.md of the dataset: YAML, then a datasheet."""
    sections = {
        "What it is for": _PURPOSE,
        "How to load it": _tell_loading(facts) if facts.files else "It has no question.",
        "Files": _tell_files(facts),
        "Origin": _tell_origin(facts),
        "How it was made": _tell_steps(facts),
        "Splits": _tell_splits(facts),
        "Fields": _make_table(
            ("field", "type", "what it holds"),
            ((name, _name_type(kind), meaning) for name, (kind, meaning) in COLUMNS.items()),
        ),
        "What was left out": _tell_exclusions(facts.metrics),
        "Known limits": _make_list(_LIMITS),
        "Citation": f"```bibtex\n{facts.bibtex}\n```",
    }
    body = "".join(f"\n## {title}\n\n{text}\n" for title, text in sections.items())
    return f"---\n{make_front_matter(facts)}---\n\n# {NAME}\n\n{_summarize(facts)}\n{body}"


_BENCHMARK = """\
name: {name}
description: >
  {text}
evaluation_framework: harbor
tasks:
  - id: text_to_sql
    config: {config}
    split: eval
"""


def make_benchmark() -> str:
    """eval.yaml, by which the hub knows a benchmark. Its tasks are those of Harbor
    (answerkey.environments.tasks): of the frameworks that it lists, the one that executes SQL.

    Source: "Eval.yaml specification" in the documentation of the hub (docs/hub/eval-results.md).
    """
    text = "A query is right if it gives the gold answer on its database and on its test suite."
    return _BENCHMARK.format(name=NAME, text=text, config=QUESTIONS)


def _name_type(kind: Any) -> str:
    if kind == CHAT:
        return "chat"
    return f"list of {kind.feature.dtype}" if isinstance(kind, List) else kind.dtype


def _summarize(facts: CardFacts) -> str:
    databases = sum(1 for count in facts.metrics["database"].values() if count)
    counts = {split: facts.files[split].rows if split in facts.files else 0 for split in SPLITS}
    return (
        f"{facts.size} questions of {facts.corpora}, asked of {databases} databases:"
        f" {', '.join(f'{count} {split}' for split, count in counts.items())}. Each has gold SQL"
        " and the gold answer that SQLite gives, so that a reward is computed without executing"
        " gold SQL."
    )


def _tell_origin(facts: CardFacts) -> str:
    licenses = {
        name: license or "not known to those who ran the pipeline"
        for name, license in facts.licenses.items()
    }
    is_one = len(set(licenses.values())) == 1
    told = (
        [f"Licence: {next(iter(licenses.values()))}."]
        if is_one
        else [f"Licence of `{name}`: {license}." for name, license in licenses.items()]
    )
    return _make_list([*facts.origin, *told])


def _tell_steps(facts: CardFacts) -> str:
    steps = (
        f"{_tell_loaded(facts.metrics)}; each has the split of its source.",
        "Every gold query was executed, read-only and within fixed bounds, and its answer kept as"
        " JSON.",
        "Every query with an answer was audited: for ties, answers that depend on the order of"
        " rows, unsound SQL, answers that a policy can guess, and SQL that does not say what its"
        " question asks.",
        f"{facts.metrics['usable']} were usable, {_tell_selection(facts)}",
        f"The result was validated: fields, answers, splits{' and targets' * bool(facts.targets)}.",
    )
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))


def _tell_selection(facts: CardFacts) -> str:
    if facts.size == facts.metrics["usable"]:
        return "and all of them are in it."
    targets = ", ".join(f"`{name}` {json.dumps(value)}" for name, value in facts.targets.items())
    return f"and {facts.size} of them, as many as these targets allow, are in it: {targets}."


def _tell_loaded(metrics: Record) -> str:
    loaded = f"{metrics['loaded']} questions were loaded"
    parts = [f"{counts['loaded']} of `{name}`" for name, counts in metrics["corpus"].items()]
    return f"{loaded}, {' and '.join(parts)}" if len(parts) > 1 else loaded


def _tell_splits(facts: CardFacts) -> str:
    table = _make_table(
        ("split", "questions"), ((split, file.rows) for split, file in facts.files.items())
    )
    return (
        f"{table}\n\nBy difficulty: {_list_counts(facts.metrics['difficulty'])}. By type of the"
        f" answer: {_list_counts(facts.metrics['answer_type'])}."
    )


def _tell_exclusions(metrics: Record) -> str:
    def explain(name: str, counts: Mapping[str, int]) -> str:
        found = ((code, count, EXPLANATIONS[code]) for code, count in counts.items() if count)
        return _make_table((name, "questions", "meaning"), found)

    excluded = metrics["excluded"]
    return (
        f"{sum(excluded.values())} of {metrics['loaded']} questions, each for one reason:\n\n"
        f"{explain('reason', excluded)}\n\nFlags of the questions that are in it:\n\n"
        f"{explain('flag', metrics['flags'])}"
    )


def _list_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _make_list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _make_table(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    """A Markdown table; none of our words holds a bar."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", *lines])

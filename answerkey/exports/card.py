"""The dataset card: YAML that hubs read, and a datasheet in words, both from a run's numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from datasets import List

from answerkey.core.explanations import EXPLANATIONS
from answerkey.core.question import SPLITS
from answerkey.exports.card_facts import NAME, CardFacts
from answerkey.exports.card_front import make_front_matter
from answerkey.exports.card_loading import tell_files, tell_loading
from answerkey.exports.huggingface import CHAT, COLUMNS

Record = dict[str, Any]

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
        "How to load it": tell_loading(facts) if facts.files else "It has no question.",
        "Files": tell_files(facts),
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

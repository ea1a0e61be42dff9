"""How to load a dataset, for its card: snippets that run as they stand, and what its files hold."""

from __future__ import annotations

from answerkey.exports.card_facts import CardFacts
from answerkey.exports.packed_files import DATABASES, TEST_SUITES, PackedFiles

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


def tell_loading(facts: CardFacts) -> str:
    """Snippets that load the questions, and score their gold SQL."""
    options = "".join(
        f', {kind}="data/{kind}"' for kind, files in facts.packed.items() if not files.has_content
    )
    return _LOADING.format(
        repo_id=facts.repo_id,
        split=next(iter(facts.files)),
        options=options,
    ).strip()


def tell_files(facts: CardFacts) -> str:
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

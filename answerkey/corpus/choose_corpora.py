"""Which corpora the dataset is made of: `corpus` in params.yaml, and the deps that follow from it.

    answerkey choose spider bird

DVC reads the deps of a stage before it runs one, and dvc.yaml cannot say "the roots of the corpora
that `corpus` names". So it has a line for each of these roots, and for no other: a change in the
folder of a corpus that is not chosen runs nothing again. A stage that reads a root which is no dep
writes it there (answerkey/corpus/corpora.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from answerkey.base.paths import PIPELINE
from answerkey.base.records import replace_file
from answerkey.corpus.corpora import edit_deps, list_roots, parse_corpora
from answerkey.corpus.pin_revisions import edit_params
from answerkey.sections.whole_file import PARAMS_PATH, Params, read_params


def choose_corpora(names: Sequence[str]) -> str:
    """Choose corpora, and return the lines for the terminal. Without a name, the corpora stay those
    of params.yaml.

    Raises:
        InputError: params.yaml has no such entry, or dvc.yaml no list of deps to write to.
    """
    text = PARAMS_PATH.read_text(encoding="utf-8")
    params = read_params()
    corpus = params.corpus if not names else names[0] if len(names) == 1 else list(names)
    parse_corpora(corpus, params.corpora)
    if corpus != params.corpus:
        text = edit_params(text, {("corpus",): corpus})
    told = replace_params(text)
    shown = corpus if isinstance(corpus, str) else f"[{', '.join(corpus)}]"
    return "\n".join([f"{PARAMS_PATH}: corpus is {shown}", *told])


def replace_params(text: str) -> list[str]:
    """Write a new text of params.yaml, and the deps in dvc.yaml that follow from it. If one fails,
    neither is changed. Return the lines for the terminal that say what dvc.yaml has now.

    Raises:
        InputError: the text is not what stages read, or dvc.yaml has no list of deps to write to.
    """
    partial = PARAMS_PATH.with_name(f".{PARAMS_PATH.name}.new.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        params = read_params(partial)
    finally:
        partial.unlink(missing_ok=True)
    before = PIPELINE.read_text(encoding="utf-8")
    roots = list_roots_by_stage(params)
    after = edit_deps(before, roots)
    try:
        for path, new in ((PIPELINE, after), (PARAMS_PATH, text)):
            if path.read_text(encoding="utf-8") != new:
                with replace_file(path) as file:
                    file.write(new.encode())
    except BaseException:
        PIPELINE.write_text(before, encoding="utf-8")
        raise
    if after == before:
        return []
    return [
        f"{PIPELINE}: {stage} depends on {' and '.join(map(str, of_stage.values())) or 'no corpus'}"
        for stage, of_stage in roots.items()
    ]


def list_roots_by_stage(params: Params) -> dict[str, dict[str, Path]]:
    """The folders of corpora that stages depend on, by the names of their entries."""
    chosen = parse_corpora(params.corpus, params.corpora)
    held_out = parse_corpora(params.load_questions.held_out or [], params.corpora)
    return {
        "download_databases": list_roots(chosen),
        "load_questions": list_roots([*chosen, *held_out]),
    }

"""Write the commits and checksums of corpora of the Hugging Face hub into params.yaml.

    answerkey pin spider

A branch or tag is replaced by its present commit, and each file of it gets its present sha256. A
commit is not changed; its files without a checksum get one. The rest of params.yaml stays the same,
including comments. Stages warn about a revision that is no commit.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import chain
from typing import Any

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count, start_log
from answerkey.base.records import hash_file, replace_file
from answerkey.corpus.corpora import Corpus, parse_corpora
from answerkey.corpus.hub import fetch_file, resolve_revision
from answerkey.sections.corpora import ARCHIVE, FILES, Archive, Download, HubQuestions
from answerkey.sections.whole_file import PARAMS_PATH, read_params

Changes = dict[tuple[str, ...], Any]  # new values in params.yaml, by their keys from the top


def _find_pins(corpus: Corpus, limits: Download) -> Changes:
    questions, databases = corpus.questions, corpus.databases
    if not isinstance(questions, HubQuestions):
        raise InputError(
            f"Corpus {corpus.name} has nothing to pin: expected one with origin: hub in params.yaml"
        )
    sources: dict[tuple[str, ...], Any] = {("questions",): questions}
    if corpus.owner == corpus.name:
        sources["databases", ARCHIVE if isinstance(databases, Archive) else FILES] = databases
    changes: Changes = {}
    for keys, source in sources.items():
        commit = resolve_revision(source.repo_id, source.revision, limits=limits)
        values: dict[str, Any] = {"revision": commit}
        is_same = commit == source.revision
        if isinstance(source, HubQuestions):
            known_hashes = source.sha256 if is_same else {}
            values["sha256"] = {
                name: known_hashes.get(name) or _hash_fetched(source.repo_id, commit, name, limits)
                for name in chain.from_iterable(source.files.values())
            }
        elif isinstance(source, Archive):
            known_hash = source.sha256 if is_same else None
            values["sha256"] = known_hash or _hash_fetched(
                source.repo_id, commit, source.path, limits
            )
        for key, value in values.items():
            if value != getattr(source, key):
                changes["corpora", corpus.name, *keys, key] = value
    return changes


def _hash_fetched(repo_id: str, commit: str, path: str, limits: Download) -> str:
    return hash_file(fetch_file(repo_id, commit, path, limits=limits))


def edit_params(text: str, changes: Mapping[tuple[str, ...], Any]) -> str:
    """The text of params.yaml with other values for some keys, and its comments. A list stands in
    one line.

    >>> print(edit_params("a:\\n  b: 1  # one\\n", {("a", "b"): 2}), end="")
    a:
      b: 2  # one
    """
    # It takes a tenth of a second, and only this function needs it.
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedSeq

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(
        type(None), lambda writer, _: writer.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    params = yaml.load(text)
    for (*above, key), value in changes.items():
        section = params
        for name in above:
            section = section[name]
        if isinstance(value, list):
            value = CommentedSeq(value)
            value.fa.set_flow_style()
        section[key] = value
    edited = io.StringIO()
    yaml.dump(params, edited)
    return edited.getvalue()


def pin_corpora(names: list[str]) -> None:
    log = start_log("pin")
    params = read_params()
    entries = params.corpora
    limits = params.download
    changes: Changes = {}
    for corpus in parse_corpora(names, entries):
        changes |= _find_pins(corpus, limits)
    if not changes:
        log.info("every revision is a commit, every file has its checksum")
        return
    edited = edit_params(PARAMS_PATH.read_text(encoding="utf-8"), changes)
    with replace_file(PARAMS_PATH) as file:
        file.write(edited.encode())
    for keys, value in changes.items():
        words = spell_count(len(value), "checksum") if isinstance(value, dict) else value
        log.info(f"{PARAMS_PATH}: {'.'.join(keys)}: {words}")

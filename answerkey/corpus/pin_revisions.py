"""Write the commits and checksums of corpora of the Hugging Face hub into params.yaml.

    answerkey pin spider

A branch or tag becomes the commit that it is now, and each file of it gets the sha256 that it has
there. A commit stays what it is; its files that have no checksum get one. The rest of params.yaml
stays, comments included. Stages warn of a revision that is no commit: a branch or a tag may be
another commit tomorrow.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from answerkey.corpus.corpora import Corpus, parse_corpora
from answerkey.corpus.hub import fetch_file, resolve_revision
from answerkey.errors import InputError
from answerkey.log import start_log
from answerkey.params import PARAMS_PATH, read_params
from answerkey.records import hash_file, replace_file
from answerkey.sections.corpora import (
    ARCHIVE,
    FILES,
    Archive,
    DatabaseFiles,
    Download,
    HubQuestions,
)

Changes = dict[tuple[str, ...], Any]  # of params.yaml: the keys from the top to a value


def find_pins(corpus: Corpus, *, limits: Download) -> Changes:
    """Changes of params.yaml that pin all of a corpus of the hub: none if it is pinned. Fetches the
    files that have no checksum.

    Raises:
        InputError: if nothing of the corpus comes from the hub.
        HubError: as `resolve_revision` and `fetch_file`.
    """
    found: Changes = {}
    is_owner = corpus.owner == corpus.name
    has_own_databases = is_owner and isinstance(corpus.databases, Archive | DatabaseFiles)
    if not isinstance(corpus.questions, HubQuestions) and not has_own_databases:
        raise InputError(
            f"Corpus {corpus.name} has nothing to pin: expected one with origin: hub in params.yaml"
        )
    if isinstance(corpus.questions, HubQuestions):
        found |= _pin_questions(corpus.questions, limits)
    if has_own_databases:
        found |= _pin_databases(corpus.databases, limits)
    return {("corpora", corpus.name, *keys): value for keys, value in found.items()}


def _pin_questions(questions: HubQuestions, limits: Download) -> Changes:
    commit = resolve_revision(questions.repo_id, questions.revision, limits=limits)
    known = questions.sha256 if commit == questions.revision else {}
    sha256 = {
        name: known.get(name) or _hash_sent_file(questions.repo_id, commit, name, limits)
        for names in questions.files.values()
        for name in names
    }
    found: Changes = {}
    if commit != questions.revision:
        found["questions", "revision"] = commit
    if sha256 != questions.sha256:
        found["questions", "sha256"] = sha256
    return found


def _pin_databases(place: Archive | DatabaseFiles, limits: Download) -> Changes:
    """The commit, and of an archive its checksum."""
    commit = resolve_revision(place.repo_id, place.revision, limits=limits)
    kind = ARCHIVE if isinstance(place, Archive) else FILES
    found: Changes = {}
    if commit != place.revision:
        found["databases", kind, "revision"] = commit
    if isinstance(place, Archive) and (found or place.sha256 is None):
        sha256 = _hash_sent_file(place.repo_id, commit, place.path, limits)
        found["databases", kind, "sha256"] = sha256
    return found


def _hash_sent_file(repo_id: str, commit: str, path: str, limits: Download) -> str:
    """sha256 of a file as the hub sends it now: what the cache has may be damaged."""
    with tempfile.TemporaryDirectory(prefix="answerkey-") as directory:
        sent = fetch_file(
            repo_id, commit, path, limits=limits, directory=Path(directory), is_forced=True
        )
        return hash_file(sent)


def edit_params(text: str, changes: Mapping[tuple[str, ...], Any]) -> str:
    """The text of params.yaml with other values for some keys, and its comments.

    >>> print(edit_params("a:\\n  b: 1  # one\\n", {("a", "b"): 2}), end="")
    a:
      b: 2  # one
    """
    from ruamel.yaml import YAML  # takes a tenth of a second, and only this function needs it

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
        section[key] = value
    edited = io.StringIO()
    yaml.dump(params, edited)
    return edited.getvalue()


def pin_corpora(names: list[str]) -> None:
    """Pin corpora in params.yaml, and say what changed there.

    Raises as `find_pins`, and InputError on a name that is no corpus.
    """
    log = start_log("pin")
    entries, limits = read_params("corpora", "download")
    changes: Changes = {}
    for corpus in parse_corpora(names, entries):
        changes |= (found := find_pins(corpus, limits=limits))
        if not found:
            log.info(f"{corpus.name}: every revision is a commit, every file has its checksum")
    if not changes:
        return
    edited = edit_params(PARAMS_PATH.read_text(encoding="utf-8"), changes)
    with replace_file(PARAMS_PATH) as file:
        file.write(edited.encode())
    for keys, value in changes.items():
        words = f"{len(value)} checksums" if isinstance(value, dict) else value
        log.info(f"{PARAMS_PATH}: {'.'.join(keys)}: {words}")

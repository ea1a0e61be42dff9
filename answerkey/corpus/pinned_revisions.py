"""A revision is pinned where it is a commit: a branch or a tag may be another commit tomorrow."""

from __future__ import annotations

from collections.abc import Iterable

from answerkey.corpus.corpora import Corpus, HubDatabases, HubQuestions
from answerkey.corpus.hub import COMMIT


def list_unpinned_questions(corpora: Iterable[Corpus]) -> list[str]:
    """A warning for each corpus whose questions are read at a revision that is no commit."""
    return [
        _describe(corpus.name, corpus.questions)
        for corpus in corpora
        if isinstance(corpus.questions, HubQuestions) and not is_pinned(corpus.questions)
    ]


def list_unpinned_databases(corpora: Iterable[Corpus]) -> list[str]:
    """The same of databases, once for those that several corpora ask."""
    owners = {
        corpus.owner: corpus.databases
        for corpus in corpora
        if isinstance(corpus.databases, HubDatabases) and not is_pinned(corpus.databases)
    }
    return [_describe(owner, databases) for owner, databases in owners.items()]


def is_pinned(place: HubQuestions | HubDatabases) -> bool:
    """Whether the revision of a repository is a commit of 40 hex digits."""
    return COMMIT.fullmatch(place.revision) is not None


def _describe(name: str, place: HubQuestions | HubDatabases) -> str:
    return (
        f"warning: corpus {name} reads {place.repo_id} at {place.revision!r}, which is no commit"
        " and may be another one tomorrow: pin it with"
        f" `python -m answerkey.corpus.pin_revisions {name}`"
    )

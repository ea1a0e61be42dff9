"""Questions of dev and test sets that are looked for in the dataset, and are not in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from answerkey.core.errors import InputError
from answerkey.core.param_corpora import VALIDATION
from answerkey.corpus.corpora import Corpus
from answerkey.corpus.hub import Limits
from answerkey.corpus.source_questions import read_source_questions


def read_held_out(corpora: Iterable[Corpus], *, limits: Limits) -> Iterator[dict[str, Any]]:
    """The validation questions of some corpora, each with its text, its SQL and where it stands.
    Their databases are not looked at.

    Raises:
        as `read_source_questions`; InputError where a corpus has no validation question.
    """
    for corpus in corpora:
        found = False
        for question in read_source_questions(corpus, limits=limits):
            if question.split != VALIDATION:
                continue
            found = True
            yield {
                "question_text": question.question,
                "gold_sql": question.query,
                "source": question.source,
            }
        if not found:
            raise InputError(
                f"Corpus {corpus.name} has no validation question: expected some, since"
                " compare_questions.held_out in params.yaml names it"
            )

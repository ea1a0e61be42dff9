"""Prompts: what a policy is asked, from a template that anyone may change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from answerkey.core.errors import InputError
from answerkey.core.manifest_file import read_database_hashes
from answerkey.core.records import encode_json
from answerkey.exports.product import AuditedQuestion, list_reward_terms
from answerkey.exports.schema_text import describe_database
from answerkey.shards.database_files import find_database, local_path

Record = dict[str, Any]
Message = dict[str, str]

_FACTS = ("question_id", "database_name", "gold_sql", "answer_type", "difficulty")


@dataclass(frozen=True)
class PromptExample:
    """A question with its prompt, as trainers take it: the nine fields, its record in audit.jsonl,
    its place in its split, and the name of the dataset."""

    question: Record
    audit: Record
    prompt: str
    index: int
    data_source: str

    @cached_property
    def ground_truth(self) -> str:
        """The gold answer as JSON text: a column of a table has one type, an answer has not."""
        return encode_json(self.question["gold_answer"]).decode()

    @cached_property
    def messages(self) -> list[Message]:
        """The prompt as a chat."""
        return [{"role": "user", "content": self.prompt}]

    @cached_property
    def facts(self) -> Record:
        """What a reward or an analysis may want to know besides the answer."""
        known = {name: self.question[name] for name in _FACTS}
        return known | list_reward_terms(self.audit)

    @cached_property
    def extra_info(self) -> Record:
        """The facts, and the place in the split, as verl and SkyRL take them."""
        return {"split": self.question["split"], "index": self.index, **self.facts}


def read_template(path: Path) -> Template:
    """A template that reaches nothing outside of what it is given, and fails on a name that it is
    not given.

    Raises:
        FileNotFoundError: where there is none.
        InputError: with the line, where it is no template.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"No template {path}: see export_trainers.prompt_template in params"
        )
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    try:
        return environment.from_string(path.read_text(encoding="utf-8"))
    except TemplateSyntaxError as error:
        raise InputError(f"{path}:{error.lineno}: expected a Jinja template: {error}") from error


def make_prompt_examples(
    questions: Iterable[AuditedQuestion],
    template: Template,
    databases: Path,
    *,
    example_rows: int,
    max_schema_characters: int,
) -> Iterator[PromptExample]:
    """The prompt examples of a split, in order; each database, whose questions stand together, is
    described once. The name of a dataset holds that of the corpus which a question is from.

    Raises:
        FileNotFoundError: where a database or their manifest is missing.
        InputError: where a database is not the one of the manifest.
        InputError: where the template asks for a name that it is not given.
    """
    index = 0
    hashes = read_database_hashes(databases)
    for name, of_database in groupby(
        questions, key=lambda audited: audited.question["database_name"]
    ):
        database = find_database(databases, name, sha256=hashes[name], databases_url=None)
        texts = describe_database(
            local_path(database),
            example_rows=example_rows,
            max_characters=max_schema_characters,
        )
        for question, audit in of_database:
            facts = {
                "database_name": name,
                **texts._asdict(),
                "question_text": question["question_text"],
                "evidence": audit["evidence"],
            }
            try:
                prompt = template.render(facts)
            except TemplateError as error:
                raise InputError(
                    f"export_trainers.prompt_template: {error}: expected no other names than"
                    f" {', '.join(facts)}"
                ) from error
            data_source = f"answerkey/{audit['source']['corpus']}"
            yield PromptExample(question, audit, prompt.strip(), index, data_source)
            index += 1

"""`answerkey explain`: what a selection takes, or what is known of a question."""

from __future__ import annotations

import argparse

from answerkey.verbs.options import ReadPath

ABOUT = "tell what these params and their neighbours would select, or all doubts of a question"
EXAMPLE = ""


def add_options(parser: argparse.ArgumentParser, _: ReadPath) -> None:
    parser.add_argument(
        "question_id", nargs="*", help="a question, whose risks, flags and repairs are told"
    )


def run(question_id: list[str]) -> int:
    from answerkey.dataset import read_classified
    from answerkey.sections.whole_file import read_params
    from answerkey.selection.choice import explain_choice

    params = read_params()
    settings = params.select_questions
    if question_id:
        from answerkey.risk.explanations import explain_question, find_questions
        from answerkey.selection.policies import find_reason, read_policies

        policies = read_policies(settings.policies)
        found = find_questions(read_classified(), question_id)
        told = (explain_question(question, find_reason(question, policies)) for question in found)
        print("\n\n".join(told))
        return 0
    rule = params.classify_difficulty
    bars = params.export_trainers
    corpus = params.corpus
    corpora = [corpus] if isinstance(corpus, str) else corpus
    questions = read_classified()
    print(
        explain_choice(
            questions,
            settings,
            rule,
            min_mutation_score=bars.min_mutation_score,
            max_sql_risk=bars.max_sql_risk,
            corpora=corpora,
        )
    )
    return 0

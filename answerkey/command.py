"""The command `answerkey`: a verb for each thing that people do. What it cannot do, it says in
words, with exit status 1.

A verb imports what it needs when it runs: `--help` is there at once, and `evaluate`, `repairs`,
`score` and `verdicts` need nothing but Python.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

from answerkey.base.errors import InputError, tell_errors
from answerkey.base.paths import PRODUCT
from answerkey.base.secrets import hide_secrets, remember_secrets

DATASET = PRODUCT.as_posix()
# An extra for a package that not every verb needs; `pipeline` has all others.
EXTRAS = {
    "shtab": "completion",
    **dict.fromkeys(("duckdb", "openpyxl", "psycopg", "pymysql"), "convert"),
}


# --- the verbs


def explain(question_id: list[str]) -> int:
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


def validate() -> int:
    from answerkey.base.log import start_log
    from answerkey.sections.corpora import list_crossing
    from answerkey.sections.whole_file import read_params
    from answerkey.validation.dataset import report_product

    params = read_params()
    settings = params.select_questions
    rule = params.classify_difficulty
    limits = params.compute_gold_answers
    crossing = list_crossing(params.corpora)
    return report_product(start_log("validate"), settings, rule, limits, crossing=crossing)


def compare(revision: str) -> int:
    import dvc  # noqa: F401  # which runs as a process of its own

    from answerkey.report.comparison import compare_product

    print(compare_product(revision))
    return 0


def repairs(*, sql: bool, limit: int | None, as_json: bool) -> int:
    from answerkey.base.paths import REPAIRS
    from answerkey.risk.explanations import describe_repaired
    from answerkey.risk.repairs import read_repairs

    for number, record in enumerate(read_repairs(REPAIRS, by_sql=sql, limit=limit)):
        if as_json:
            print(json.dumps(record))
        else:
            print("\n" * bool(number) + describe_repaired(record))
    return 0


def verdicts(files: list[Path], *, ids: Path | None, as_json: bool) -> int:
    from answerkey.base.paths import INTERIM
    from answerkey.dataset import JOINED, read_joined
    from answerkey.risk.agreement import compare_verdicts, describe_comparison

    has_run = (INTERIM / JOINED).is_file()
    left, right = files
    comparison = compare_verdicts(left, right, read_joined() if has_run else ())
    if as_json:
        print(json.dumps(comparison.describe()))
    else:
        print(describe_comparison(comparison))
    if ids is not None:
        lines = "".join(f"{name}\n" for name in comparison.list_ids())
        with tell_mistakes(ids):
            ids.write_text(lines, encoding="utf-8")
    return 0


def evaluate(
    predictions: list[Path],
    *,
    out: Path,
    as_json: bool,
    fail_under: float | None,
    **options: Any,
) -> int:
    from answerkey import evaluate

    with tell_mistakes(out):
        summary = evaluate.evaluate(*predictions, out=out, **options)
    below = [] if fail_under is None else evaluate.list_below(summary, fail_under)
    partial = evaluate.list_partial(summary)
    print(json.dumps(summary) if as_json else evaluate.describe(summary), flush=True)
    for sentence in below + partial * (as_json or bool(below)):
        print(sentence, file=sys.stderr)
    return 1 if below else 0


def score(predictions: Path, **options: Any) -> int:
    from answerkey.evaluate import score_file

    with tell_mistakes(predictions):
        scores = score_file(predictions, **options)
    for score in scores:  # a reader that leaves is no mistake of the predictions
        print(json.dumps(score))
    return 0


def new(folder: Path, **options: Any) -> int:
    from answerkey.intake.new_corpus import make_corpus

    print(make_corpus(folder, **options))
    return 0


def pin(corpus: list[str]) -> int:
    from answerkey.corpus.pin_revisions import pin_corpora

    pin_corpora(corpus)
    return 0


def import_corrections(file: Path, *, date: str, **options: str) -> int:
    from answerkey.corpus.import_corrections import import_list

    import_list(file, day=date, **options)
    return 0


def correct(folder: Path, out: Path, **options: Any) -> int:
    from answerkey.corpus.corrected_copy import correct_folder

    try:
        correct_folder(folder, out, **options)
    except OSError as error:  # `dvc repro` mends none of these
        raise InputError(f"{error.filename or out}: {error.strerror or error}") from error
    return 0


def read(
    name: str,
    *,
    question_id: list[str],
    database: list[str],
    corpus: str | None,
    count: int | None,
    judged: bool,
    turns: int,
    max_tokens: int | None,
    workers: int,
    template: Path | None,
    **server: Any,
) -> int:
    from answerkey.reading.run import Choice, read_gold, read_server

    choice = Choice(
        question_ids=tuple(question_id),
        databases=tuple(database),
        corpus=corpus,
        count=count,
        judged=judged,
    )
    print(
        read_gold(
            name,
            choice=choice,
            server=read_server(**server),
            turns=turns,
            max_tokens=max_tokens,
            workers=workers,
            template=template,
        )
    )
    return 0


def completion(shell: str) -> int:
    import shtab

    print(shtab.complete(make_parser(), shell=shell))
    return 0


# --- what they take


class _Parser(argparse.ArgumentParser):
    """Its errors show no secret of what was written, such as a URL where none is read."""

    def error(self, message: str) -> NoReturn:
        super().error(hide_secrets(message))


def make_parser(read_path: Callable[[str], Path] = Path) -> argparse.ArgumentParser:
    """The options of all verbs, each with its help and an example. read_path: makes a path of what
    is written."""
    parser = _Parser(
        prog="answerkey",
        description="Execute, audit and curate text-to-SQL gold answers, and score predictions.",
        epilog="example: answerkey evaluate predictions.jsonl",
        allow_abbrev=False,
    )
    with contextlib.suppress(PackageNotFoundError):  # it runs from a folder
        words = f"answerkey {version('answerkey')}"
        parser.add_argument("--version", action="version", version=words, help="print the version")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")

    def add(run: Callable[..., int], about: str, example: str) -> argparse.ArgumentParser:
        name = run.__name__.replace("_", "-")
        verb = verbs.add_parser(
            name,
            help=about,
            description=f"{about[0].upper()}{about[1:]}.",
            epilog=f"example: answerkey {name} {example}".rstrip(),
            allow_abbrev=False,
        )
        verb.set_defaults(run=run)
        return verb

    verb = add(
        explain,
        "tell what these params and their neighbours would select, or all doubts of a question",
        "",
    )
    verb.add_argument(
        "question_id", nargs="*", help="a question, whose risks, flags and repairs are told"
    )
    add(
        validate,
        "check data/questions against its databases, executing gold SQL; exit status 0: valid,"
        " 1: not, 3: nothing here yet",
        "",
    )
    verb = add(compare, "list questions that came, went or changed since a git revision", "HEAD~1")
    verb.add_argument("revision", metavar="REV", help="a commit, a branch or a tag")
    verb = add(
        repairs,
        "list questions whose gold is in doubt, and what was likelier meant, the riskiest answers"
        " first",
        "--limit 20",
    )
    verb.add_argument("--sql", action="store_true", help="the riskiest SQL first")
    verb.add_argument("--limit", type=_read_count, metavar="N", help="so many questions")
    verb.add_argument(
        "--json", dest="as_json", action="store_true", help="a line of JSON a question, with all"
    )
    verb = add(
        verdicts,
        "compare what two readers say of gold: kappa, counts, and where they differ",
        "data/verdicts/kim.jsonl data/verdicts/qwen3-32b.jsonl",
    )
    verb.add_argument(
        "files", type=read_path, nargs=2, metavar="FILE", help="a file of verdicts of each reader"
    )
    verb.add_argument(
        "--json", dest="as_json", action="store_true", help="one line of JSON, with all"
    )
    verb.add_argument(
        "--ids",
        type=read_path,
        help="write the ids of the questions on which they differ, a line each, for a third reader",
    )
    verb = add(
        evaluate, "tell how many predictions are right, and rank systems", "small.jsonl large.jsonl"
    )
    verb.add_argument(
        "predictions",
        type=read_path,
        nargs="+",
        help="JSON Lines, or SQL in a file's order; several files are compared",
    )
    _add_dataset(verb, read_path)
    verb.add_argument(
        "--out",
        type=read_path,
        default=Path("reports/evaluation"),
        help="the folder for the page and the numbers (default: %(default)s)",
    )
    verb.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="print summary.json in place of the table, as one line",
    )
    verb.add_argument(
        "--fail-under",
        type=_read_share,
        metavar="SHARE",
        help="end with status 1 if fewer are right, on the suites if these are used: 0.7 is 70 %%",
    )
    verb.add_argument("--split", choices=("train", "eval"), help="count its questions alone")
    verb.add_argument(
        "--all-usable",
        action=argparse.BooleanOptionalAction,
        help="count usable questions that are not selected (default: if there are predictions"
        " for them)",
    )
    verb = add(score, "print a line of JSON with the score of each prediction", "predictions.jsonl")
    verb.add_argument("predictions", type=read_path, help="JSON Lines, or SQL in a file's order")
    _add_dataset(verb, read_path)

    verb = add(
        new,
        "make a corpus of a database and a file of questions, and its entry in params.yaml",
        "data/local/shop --database shop.duckdb --questions questions.csv",
    )
    verb.add_argument("folder", metavar="DIR", type=read_path, help="such as data/local/shop")
    verb.add_argument(
        "--database",
        dest="databases",
        action="extend",
        nargs="+",
        default=[],
        metavar="PATH_OR_URL",
        type=lambda text: _read_place(text, read_path),
        help="SQLite, DuckDB, CSV or Parquet, a dump of Postgres, or the URL of Postgres or MySQL;"
        " NAME=PATH names it (default: what lies in DIR)",
    )
    verb.add_argument(
        "--questions",
        type=read_path,
        help="JSON, JSON Lines, CSV or Excel (default: what lies in DIR)",
    )
    verb.add_argument(
        "--dialect", help="of gold SQL, such as postgres (default: that of the database)"
    )
    verb.add_argument(
        "--types",
        action="extend",
        nargs="+",
        default=[],
        metavar="TABLE.COLUMN=TYPE",
        help="of columns of CSV and TSV: TEXT, INTEGER, REAL, BOOLEAN, DATE, TIME or DATETIME, such"
        " as bills.code=TEXT or bills.due=DATE:%%d/%%m/%%Y (default: guessed from the values)",
    )
    verb.add_argument(
        "--now",
        metavar="DATE",
        help="what date('now'), CURRENT_DATE and the like mean, such as 2025-01-30",
    )
    verb = add(pin, "write commits and checksums of corpora of the hub into params.yaml", "spider")
    verb.add_argument("corpus", nargs="+", help="an entry of corpora with origin: hub")
    verb = add(
        import_corrections,
        "make corrections and verdicts of a published list",
        "fixed.json --corpus bird --name fixed --source https://example.org/fixed"
        " --license cc-by-4.0 --date 2026-03-01",
    )
    verb.add_argument("file", type=read_path, help="the list: .json, .jsonl or .csv")
    verb.add_argument("--corpus", required=True, help="the entry of corpora that it is about")
    verb.add_argument("--name", required=True, help="of the files that are written")
    verb.add_argument("--source", required=True, help="the address of the list, or who made it")
    verb.add_argument("--license", required=True, help="of the list, such as cc-by-4.0")
    verb.add_argument("--date", required=True, help="its day, such as 2026-03-01")

    verb = add(
        correct,
        "copy a folder of Spider, BIRD or the like with corrections applied, for any other tool",
        "data/local/spider data/local/spider_corrected --corrections spider",
    )
    verb.add_argument("folder", metavar="FOLDER", type=read_path, help="which is only read")
    verb.add_argument("out", metavar="OUT", type=read_path, help="a new or an empty folder")
    verb.add_argument(
        "--corrections",
        required=True,
        metavar="NAME_OR_FILE",
        type=lambda text: read_path(text) if {"/", "."} & {*text} else text,
        help="a list: its name in data/corrections, or its file",
    )
    verb.add_argument(
        "--layout",
        metavar="NAME",
        help="of the files of questions: own, spider, spider_syn, bird or synsql (default: that"
        " whose fields the first row of each file has)",
    )
    verb.add_argument(
        "--without-databases", action="store_true", help="leave out the folders of databases"
    )

    verb = add(
        read,
        "let a model judge gold SQL, with the database open, and write verdicts and corrections",
        "--name qwen3_32b --count 100 --max-tokens 5000000",
    )
    verb.add_argument("--name", required=True, help="of the files that are written")
    verb.add_argument(
        "--count", type=_read_count, metavar="N", help="the N riskiest (default: all)"
    )
    verb.add_argument(
        "--question-id", nargs="+", action="extend", default=[], help="these, whatever is known"
    )
    verb.add_argument(
        "--database", nargs="+", action="extend", default=[], help="questions of these alone"
    )
    verb.add_argument("--corpus", help="questions of this entry of corpora alone")
    verb.add_argument(
        "--judged", action="store_true", help="also questions about which there is a verdict"
    )
    verb.add_argument(
        "--max-tokens", type=_read_size, metavar="N", help="end the run before it takes more"
    )
    verb.add_argument(
        "--turns",
        type=_read_size,
        default=8,
        metavar="N",
        help="replies of the model in a reading; in the last two it cannot query (default:"
        " %(default)s)",
    )
    verb.add_argument(
        "--workers",
        type=_read_size,
        default=4,
        metavar="N",
        help="readings at the same time (default: %(default)s)",
    )
    verb.add_argument("--template", type=read_path, help="of the prompt (default: the package's)")
    for option, kind, default, about in (
        ("--reply-tokens", _read_size, 8192, "of one reply at most"),
        ("--temperature", _read_number, None, "of the model (default: the server's)"),
        ("--timeout-s", _read_size, 300, "seconds for one reply"),
        ("--attempts", _read_size, 6, "for one reply"),
        ("--backoff-s", _read_number, 2.0, "seconds to the second attempt, then twice as many"),
    ):
        about += "" if default is None else " (default: %(default)s)"
        verb.add_argument(option, type=kind, default=default, metavar="N", help=about)

    verb = add(completion, "print a script by which a shell completes these commands", "bash")
    verb.add_argument("shell", choices=("bash", "tcsh", "zsh"), help="which shell")
    return parser


def _read_place(text: str, read_path: Callable[[str], Path]) -> str:
    """A path from where the user is, perhaps behind a name; a URL as it is."""
    if "://" in text:
        return text
    name, mark, path = text.rpartition("=") if not Path(text).exists() else ("", "", text)
    return f"{name}{mark}{read_path(path)}"


def _read_count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, found {text!r}")
    return int(text)


def _read_size(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, found {text!r}")
    return int(text)


def _read_share(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) <= 1:
            return value
    raise argparse.ArgumentTypeError(f"expected a share from 0 to 1, such as 0.7, found {text!r}")


def _read_number(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) < float("inf"):
            return value
    raise argparse.ArgumentTypeError(f"expected a number from 0, found {text!r}")


def _add_dataset(verb: argparse.ArgumentParser, read_path: Callable[[str], Path]) -> None:
    verb.add_argument(
        "--dataset",
        default=DATASET,
        type=lambda text: str(read_path(text)) if Path(text).exists() else text,
        help="a folder of the product, a checkout, a Hugging Face export or a name on its hub"
        " (default: %(default)s)",
    )
    verb.add_argument(
        "--databases", type=read_path, help="the folder of the databases (default: the dataset's)"
    )
    suites = verb.add_mutually_exclusive_group()
    suites.add_argument(
        "--test-suites",
        type=read_path,
        help="the folder of the suites' databases (default: the dataset's)",
    )
    suites.add_argument(
        "--no-test-suites",
        dest="use_suites",
        action="store_false",
        help="try predictions on the real databases alone",
    )
    verb.add_argument("--rule", help="of comparison, such as strict, spider or bird")
    verb.add_argument("--source-file", help="whose order the predictions have, as dev.json")
    verb.add_argument("--workers", type=int, help="how many processes (default: one a core, to 8)")


# --- what goes wrong


@contextlib.contextmanager
def tell_mistakes(path: Path) -> Iterator[None]:
    """Raise InputError for what the system or a file of predictions refuses: `dvc repro` mends none
    of it. place: what to name if the system names no file."""
    try:
        yield
    except (OSError, ValueError) as error:
        words = str(error)
        if isinstance(error, OSError) and error.errno is not None:
            words = f"{error.filename or path}: {error.strerror}"
        raise InputError(words) from error


def find_project() -> Path | None:
    """The project, or the folder with a dataset, in which one is: this folder or one above."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "params.yaml").is_file() or (folder / DATASET).is_dir():
            return folder
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    with tell_errors("answerkey"):
        project, here = find_project(), Path.cwd()
        root = project or here
        # Verbs name what the project has by its place there, and users by where they are.
        parser = make_parser(
            Path if root == here else lambda text: Path(os.path.relpath(text, root))
        )
        remember_secrets(*(sys.argv[1:] if arguments is None else arguments))
        options = vars(parser.parse_args(arguments))
        verb = options.pop("verb")
        if verb is None:
            parser.print_help()
            return 0
        run = options.pop("run")
    with tell_errors(f"answerkey {verb}"), contextlib.chdir(root):
        try:
            status: int = run(**options)
            return status
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            extra = EXTRAS.get(package, "pipeline")
            words = f"it needs {package}: in a clone of Answerkey, pip install '.[{extra}]'"
            raise InputError(words) from error
        except (InputError, OSError) as error:
            is_for_project = verb != "correct" and options.get("dataset", DATASET) == DATASET
            if project is None and is_for_project:
                words = f"{here}, and each folder above, has no params.yaml and no {DATASET}"
                error.add_note(f"There is no project: {words}")
            raise

"""Writes the reward of the query in a file: `score.py ANSWER FOLDER`."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from answerkey.reward import RewardPool, extract_sql  # noqa: E402


def main(answer: Path, folder: Path) -> None:
    """Score the answer, fenced or not; a missing one is 0.0."""
    text = answer.read_bytes().decode(errors="replace") if answer.is_file() else ""
    question = json.loads((HERE / "question.json").read_text(encoding="utf-8"))
    databases = HERE / "databases"
    with RewardPool(workers=1, databases=databases, test_suites=databases) as pool:
        explained = pool.explain_score(extract_sql(text) or text, **question)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reward.txt").write_text(str(explained.reward), encoding="utf-8")
    print(explained.reason or "right", explained.detail)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

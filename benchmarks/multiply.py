"""A corpus many times over: every database under several names, each with all of its questions.

python multiply.py CORPUS TARGET TIMES
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from bare_loop import QUESTION_FILES


def main() -> None:
    corpus, target, times = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    for source in sorted(path for path in (corpus / "database").iterdir() if path.is_dir()):
        for number in range(times):
            name = f"{source.name}_{number}"
            folder = target / "database" / name
            folder.mkdir(parents=True)
            for path in source.iterdir():
                if path.is_file():
                    renamed = f"{name}.sqlite" if path.suffix == ".sqlite" else path.name
                    shutil.copyfile(path, folder / renamed)
    for name in QUESTION_FILES:
        questions = json.loads((corpus / name).read_text(encoding="utf-8"))
        copies = [
            {**question, "db_id": f"{question['db_id']}_{number}"}
            for number in range(times)
            for question in questions
        ]
        (target / name).write_text(json.dumps(copies), encoding="utf-8")


if __name__ == "__main__":
    main()

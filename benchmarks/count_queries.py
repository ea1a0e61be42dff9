"""How many distinct queries each database of a corpus has: `name count`, one a line.

python count_queries.py CORPUS
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from bare_loop import read_questions


def main() -> None:
    queries: dict[str, set[str]] = defaultdict(set)
    for question in read_questions(Path(sys.argv[1])):
        queries[question["db_id"]].add(question["query"])
    for name, distinct in sorted(queries.items()):
        print(name, len(distinct))


if __name__ == "__main__":
    main()

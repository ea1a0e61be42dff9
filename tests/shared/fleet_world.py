"""A project's folder with a fleet of ships, for the stage that computes gold answers."""

import json
from dataclasses import asdict
from pathlib import Path

from answerkey.base.records import hash_file
from answerkey.engines.database import Limits
from answerkey.sections.whole_file import read_params
from stages import compute_gold_answers as stage
from tests.shared.databases import make_database
from tests.shared.project_world import write_params

FLEET = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, tonnage REAL, code TEXT, photo BLOB);
INSERT INTO ship VALUES (1, 'Sun', 12.5, '00123', x'00'), (2, 'Zoë', 7.0, NULL, NULL);
"""


def make_fleet(path: Path, sql: str = FLEET) -> Path:
    """A new database file of ships."""
    return make_database(path, sql)


class Project:
    """A project's folder: databases with their manifest, questions and params, and the stage."""

    def __init__(self, folder):
        self.folder = folder
        self.limits = asdict(Limits(max_steps=1_000_000))
        self.databases = {}
        self.questions = {}
        self.excluded = {}  # question_id: why a curator excluded it

    def add(self, name, queries, sql=FLEET):
        self.databases[name] = sql
        self.questions[name] = list(queries)
        return self

    def write(self, **options):
        entries = {}
        for name, sql in self.databases.items():
            path = make_database(self.folder / "data/databases" / name / f"{name}.sqlite", sql)
            entries[name] = {"sha256": hash_file(path)}
        manifest = self.folder / "data/databases/manifest.json"
        manifest.write_text(json.dumps({"databases": entries}))
        records = [
            {
                "question_id": f"{name}_train_{place:03d}",
                "database_name": name,
                "gold_sql": sql,
                "source": {},
            }
            for name, queries in self.questions.items()
            for place, sql in enumerate(queries)
        ]
        for record in records:
            if reason := self.excluded.get(record["question_id"]):
                decision = {"action": "exclude", "reason": reason, "link": None}
                record["source"] = {"correction": decision}
        splits = self.folder / "data/interim/splits.jsonl"
        splits.parent.mkdir(exist_ok=True)
        splits.write_text("".join(json.dumps(record) + "\n" for record in records))
        execution = {"runner": "local", "workers": 1, "databases_url": None}
        execution |= {"max_warnings": 0, **options}
        write_params(
            self.folder / "params.yaml", compute_gold_answers=self.limits, execution=execution
        )

    def run(self, capfd, **options):
        """Writes all inputs, runs the stage, gives its summary line."""
        self.write(**options)
        stage.main(read_params())
        return capfd.readouterr().err

    def shard(self, name):
        lines = (self.folder / f"data/interim/gold_answers/{name}.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def bytes(self):
        folder = self.folder / "data/interim/gold_answers"
        return {path.name: path.read_bytes() for path in folder.iterdir()}

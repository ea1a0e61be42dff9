"""An environment with the wheel, and no clone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.shared.checkout import output


def run(folder: Path, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without what this test run can import."""
    variables = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ["PATH"]])
    variables |= {"DVC_NO_ANALYTICS": "1", "PATH": path}
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=1800
    )
    assert not (check and done.returncode), output(done)
    return done


class Installed:
    """An environment with the wheel, outside of any clone: that which ANSWERKEY_WHEEL_ENVIRONMENT
    names, with what the wheel's extras bring and no more; else one with the packages of this."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        made = os.environ.get("ANSWERKEY_WHEEL_ENVIRONMENT")
        environment = Path(made) if made else folder / "environment"
        if not made:
            run(folder, sys.executable, "-m", "venv", "--without-pip", str(environment))
        self.python = str(environment / "bin/python")
        self.package = self._find_packages() / "answerkey"
        if not made:
            packages = [path for path in sys.path if path.endswith("site-packages")]
            others = self.package.parent / "others.pth"
            others.write_text("\n".join(packages), encoding="utf-8")
        install = ("install", "--quiet", "--no-index", "--no-deps", "--ignore-installed")
        run(folder, sys.executable, "-m", "pip", "--python", self.python, *install, str(wheel))

    def _find_packages(self) -> Path:
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(run(Path(), self.python, "-c", code).stdout.strip())

    def answerkey(self, folder: Path, *arguments: str, check: bool = True) -> str:
        return output(run(folder, self.python, "-m", "answerkey", *arguments, check=check))

    def dvc(self, folder: Path, *arguments: str) -> str:
        return output(run(folder, self.python, "-m", "dvc", *arguments))

    def change(self, name: str, before: str, after: str) -> None:
        text = (self.package / name).read_text(encoding="utf-8")
        assert before in text
        (self.package / name).write_text(text.replace(before, after, 1), encoding="utf-8")

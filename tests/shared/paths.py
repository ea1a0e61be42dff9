"""Where this repository lies."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FLAG_PRECISION = ROOT / "data/flag_precision.json"

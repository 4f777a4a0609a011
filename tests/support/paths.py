"""Where the repository and its recorded data are, for tests in any folder."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The root of the repository."""

DATA = ROOT / "tests" / "data"
"""What real brokers wrote, printed and answered."""

"""Sound that a browser recorded: `tests/data/audio`, the tone of Chromium's fake microphone, in slices of a second."""

from pathlib import Path

SLICES = [path.read_bytes() for path in sorted((Path(__file__).parents[2] / "data" / "audio").glob("chromium-*.slice"))]
LENGTH_US = 5_160_000

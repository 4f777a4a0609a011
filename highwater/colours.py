"""Colours for figures outside of the page, which has them by name."""

from collections.abc import Mapping
from typing import Any

LIGHT: Mapping[str, str] = {
    "--control": "#8a3fc0", "--fetch": "#08756a", "--group": "#577000", "--hw": "#141a22", "--ink2": "#4c5868",
    "--isr": "#24a196", "--leader": "#c27e0a", "--outisr": "#742c66", "--produce": "#3f55c9", "--zk": "#5a6778",
}  # fmt: skip
"""The colours of the light theme that charts of runs use, as in the page's stylesheet."""


def coloured(part: Any) -> Any:
    """A copy of a part of a figure with colours that every Plotly accepts."""
    if isinstance(part, str):
        return LIGHT[part] if part.startswith("--") else part
    if isinstance(part, list):
        return [coloured(one) for one in part]
    if isinstance(part, dict):
        return {key: coloured(value) for key, value in part.items()}
    return part

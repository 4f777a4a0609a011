"""Colours for figures outside of the page, which has them by name."""

from collections.abc import Mapping
from typing import Any

LIGHT: Mapping[str, str] = {
    "--control": "#8a3fc0", "--danger": "#c02e1d", "--dangerbg": "#fdeae6", "--fetch": "#08756a", "--group": "#577000",
    "--hw": "#141a22", "--ink": "#141a22", "--ink2": "#4c5868", "--isr": "#24a196", "--leader": "#c27e0a",
    "--line2": "#cbd2db", "--okbg": "#e3f5f2", "--outisr": "#742c66", "--produce": "#3f55c9", "--selbg": "#e7edfb",
    "--warnbg": "#fff4dc", "--zk": "#5a6778",
}  # fmt: skip
"""The colours of the light theme that charts use, as in the page's stylesheet."""


def coloured(part: Any) -> Any:
    """A copy of a part of a figure with colours that every Plotly accepts."""
    if isinstance(part, str):
        # A topic may be named like a colour.
        return LIGHT.get(part, part)
    if isinstance(part, list):
        return [coloured(one) for one in part]
    if isinstance(part, dict):
        return {key: coloured(value) for key, value in part.items()}
    return part

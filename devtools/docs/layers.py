"""The layer diagrams of docs/ARCHITECTURE.md, from the import contracts in pyproject.toml."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def render(container: str) -> str:
    """A Mermaid flowchart of the layers in a package; an arrow means "may import".

    Raises `KeyError` where no contract of type `layers` has `container` as its only container.
    """
    layers = [[name.strip(" ()") for name in layer.split(":")] for layer in _layers(container)]
    shown = [[name for name in layer if _exists(container, name)] for layer in layers]
    lines = ["```mermaid", "flowchart TD"]
    rows = [layer for layer in shown if layer]
    for number, layer in enumerate(rows):
        names = " · ".join(layer)
        lines.append(f'    L{number}["{names}"]')
    lines += [f"    L{number} --> L{number + 1}" for number in range(len(rows) - 1)]
    return "\n".join([*lines, "```"])


def _layers(container: str) -> list[str]:
    contracts: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    for contract in contracts:
        if contract["type"] == "layers" and contract.get("containers") == [container]:
            layers: list[str] = contract["layers"]
            return layers
    raise KeyError(f"pyproject.toml has no contract of type layers for {container}")


def _exists(container: str, name: str) -> bool:
    path = ROOT / container.replace(".", "/") / name
    return path.is_dir() or path.with_suffix(".py").is_file()

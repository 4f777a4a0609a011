"""`docs/GLOSSARY.md`: each term in English and Chinese. Exercises may use no other."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

GLOSSARY = Path(__file__).parent.parent.parent / "docs" / "GLOSSARY.md"


class Term(NamedTuple):
    """A row of the glossary."""

    english: str
    chinese: str
    meaning: str


@cache
def glossary() -> dict[str, Term]:
    """The terms by their English name. Raises ValueError for an incomplete row, or a duplicate term."""
    return parse(GLOSSARY.read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, Term]:
    """The rows of all tables of a page: `| English | 中文 | meaning |`. Raises ValueError, see `glossary`."""
    terms: dict[str, Term] = {}
    for line in text.splitlines():
        if not line.startswith("|") or set(line) <= set("|-: "):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "English":
            continue
        if len(cells) != 3 or not all(cells):
            raise ValueError(f"the glossary has a row without English, Chinese and meaning: {line}")
        term = Term(*cells)
        if term.english in terms:
            raise ValueError(f"the glossary has {term.english!r} twice")
        terms[term.english] = term
    return terms

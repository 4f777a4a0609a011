"""`docs/GLOSSARY.md`: each term in English and Chinese. Exercises may use no other terms."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from lab.exercises.bilingual import Bilingual

GLOSSARY = Path(__file__).parent.parent.parent / "docs" / "GLOSSARY.md"


class Term(NamedTuple):
    """A row of the glossary, in the table below the heading `section`."""

    english: str
    chinese: str
    meaning: Bilingual
    section: str


@cache
def glossary() -> dict[str, Term]:
    """The terms by their English name. Raises ValueError for an incomplete row, or a duplicate term."""
    return parse(GLOSSARY.read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, Term]:
    """The rows of all tables of a page: `| English | 中文 | meaning | 含义 |`. Raises ValueError, see `glossary`."""
    terms: dict[str, Term] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        if not line.startswith("|") or set(line) <= set("|-: "):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "English":
            continue
        if len(cells) != 4 or not all(cells):
            raise ValueError(f"the glossary has a row without English, Chinese and the meaning in both: {line}")
        term = Term(cells[0], cells[1], Bilingual(cells[2], cells[3]), section)
        if term.english in terms:
            raise ValueError(f"the glossary has {term.english!r} twice")
        terms[term.english] = term
    return terms

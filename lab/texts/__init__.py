"""Texts for people: catalogues, and refusals with what was wrong, what was expected and what to do."""

from pathlib import Path

from broker_core.texts import register

#: The lab's own messages, and those of its pages, which the browser's modules and the templates ask for.
CATALOGUES = (Path(__file__).parent / "catalogues", Path(__file__).parents[2] / "static" / "lab" / "i18n")

for _folder in CATALOGUES:
    register(_folder)

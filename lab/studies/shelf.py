"""The available results: those shipped with the lab, and those of studies that were run here."""

from pathlib import Path

import msgspec
from django.conf import settings

from lab.studies.summary import Found
from lab.texts.refusal import Refusal

SHIPPED = Path(__file__).parent / "shipped"
_FOUND = msgspec.json.Decoder(Found)


def all_found() -> list[Found]:
    """All results, by name. A study that was run here replaces a shipped one of the same name."""
    paths = {path.stem: path for path in SHIPPED.glob("*.json")}
    paths |= {path.parent.name: path for path in (Path(settings.DATA) / "studies").glob("*/result.json")}
    return [_FOUND.decode(paths[slug].read_bytes()) for slug in sorted(paths)]


def one_found(slug: str) -> Found:
    """The result of a study. Raises Refusal (404) for an unknown one."""
    found = next((one for one in all_found() if one.slug == slug), None)
    if found is None:
        raise Refusal("refusal.no_study", 404, study=slug)
    return found

"""The table of APIs and versions in docs/FIDELITY.md, from the wire schemas."""

from broker_core.broker.translation import TRANSLATIONS
from broker_core.broker.translation.security import SECURITY
from broker_core.eras import ERAS
from broker_core.wire.schemas import SCHEMAS, offered


def api_table() -> list[tuple[str, ...]]:
    """Head, rule and rows: key, name, the versions that each era offers, first compact version, answered or not."""
    head = ("key", "API", *ERAS, "compact from", "answered")
    rows = [
        (
            str(api.key),
            api.name,
            *(_range(*offered(era).get(api.key, (0, -1))) for era in ERAS.values()),
            "–" if api.flexible_from is None else f"v{api.flexible_from}",
            _answered(api.name),
        )
        for api in SCHEMAS.values()
    ]
    return [head, ("---",) * len(head), *rows]


def render() -> str:
    """The table as Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in api_table())


def _range(lowest: int, highest: int) -> str:
    if highest < lowest:
        return "–"
    return str(lowest) if lowest == highest else f"{lowest}–{highest}"


def _answered(name: str) -> str:
    if name in SECURITY:
        return "as with security off"
    return "yes" if name in TRANSLATIONS else "no"

"""`manage.py gen_fidelity`: the table of APIs and versions in docs/FIDELITY.md, written from the tables of the wire."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from broker_core.broker.translation import TRANSLATIONS
from broker_core.broker.translation.security import SECURITY
from broker_core.eras import ERAS
from broker_core.wire.schemas import SCHEMAS, offered

PATH = Path("docs/FIDELITY.md")
BEGIN, END = "<!-- written by manage.py gen_fidelity -->", "<!-- end -->"


class Command(BaseCommand):
    """Writes what stands between the two comments; the rest of the page is written by hand."""

    help = "Write the table of APIs and versions in docs/FIDELITY.md from broker_core.wire.schemas."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        path = Path(settings.BASE_DIR) / PATH
        before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        lines = [f"| {' | '.join(row)} |" for row in table()]
        path.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")
        self.stdout.write(f"{PATH} tells of {len(SCHEMAS)} APIs")


def table() -> list[tuple[str, ...]]:
    """Head, rule and rows."""
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


def _range(least: int, greatest: int) -> str:
    if greatest < least:
        return "–"
    return str(least) if least == greatest else f"{least}–{greatest}"


def _answered(name: str) -> str:
    if name in SECURITY:
        return "as with security off"
    return "yes" if name in TRANSLATIONS else "no"

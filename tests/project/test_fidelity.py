"""docs/FIDELITY.md says no more than the code does."""

from broker_core.broker.translation import TRANSLATIONS
from lab.management.commands.gen_fidelity import BEGIN, END, PATH, table
from tests.support.paths import ROOT

PAGE = (ROOT / PATH).read_text(encoding="utf-8")


def test_the_table_of_apis_is_that_of_the_wire() -> None:
    written = PAGE.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in written]
    assert [row[:-1] for row in rows] == [row[:-1] for row in table()], "run `manage.py gen_fidelity` and commit"
    answered = {name for _, name, *_, answer in rows[2:] if answer in ("yes", "as with security off")}
    assert answered and answered <= TRANSLATIONS.keys()

"""A build: the files of each table, and how far each recording was read."""

from collections.abc import Collection, Iterator

import msgspec

from lab.analytics.store.chunks import Chunks, packed, unpacked, whole
from lab.analytics.store.files import Files, files_at
from lab.analytics.store.ledger import BranchEntry

_FOLDER = "_builds"
_PINS = "_pins"


class StoredFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A Parquet file of a table. Without a path, the units have been made and have no rows.

    `units` are those whose rows count, each with the last event included; `held` is the number of units in the file. If
    `units` has fewer, the rows of the others have been replaced, and readers filter by unit. `code` is the digest of
    what made it.
    """

    path: str
    rows: int
    bytes: int
    units: dict[str, int]
    held: int
    code: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all its rows count."""
        return len(self.units) == self.held


class StoredColumn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column as declared when the build was made."""

    name: str
    type: str
    unit: str = ""
    doc: str = ""
    personal: bool = False


class TableState(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table in a build: its chunks of files, and its description."""

    chunks: tuple[str, ...]
    unit: str
    key: tuple[str, ...]
    order: tuple[str, ...]
    columns: tuple[StoredColumn, ...]
    doc: str = ""


class CheckResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a rule found in the rows that a build wrote."""

    table: str
    rule: str
    severity: str
    rows: int
    failed: int
    sample: tuple[str, ...] = ()


class BuildFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The file of a build. Builds are ordered by number, not by time: the clock of a server may jump."""

    build: int
    parent: int
    tables: dict[str, TableState]
    ledger: tuple[str, ...]
    touched: tuple[str, ...] = ()
    began_ms: int = 0
    took_s: float = 0.0
    events: int = 0
    files: int = 0
    bytes: int = 0
    checks: tuple[CheckResult, ...] = ()


class Build:
    """A published build, which does not change when others follow."""

    def __init__(self, store: "Store", file: BuildFile) -> None:
        self._store = store
        self.file = file

    @property
    def number(self) -> int:
        return self.file.build

    @property
    def tables(self) -> Collection[str]:
        """The names of the tables that it has."""
        return self.file.tables.keys()

    def files(self, table: str, units: Collection[str] | None = None) -> list[StoredFile]:
        """The files of a table that hold these units, or all; none if there is no such table. Their `units` are reduced
        to the requested ones, so that `is_whole` determines whether rows have to be filtered.
        """
        found = [file for file in self.entries(table) if file.path]
        if units is None:
            return found
        asked = set(units)
        reduced = ((file, {unit: seq for unit, seq in file.units.items() if unit in asked}) for file in found)
        return [msgspec.structs.replace(file, units=wanted) for file, wanted in reduced if wanted]

    def entries(self, table: str) -> list[StoredFile]:
        """All entries of a table, including units without rows."""
        state = self.file.tables.get(table)
        return [] if state is None else self._store.file_chunks.read(state.chunks)

    def made_to(self, table: str, code: str | None = None) -> dict[str, int]:
        """The units of a table that have been made, each with the last event included.

        Args:
            table: its name.
            code: a digest; units made by other code are left out.
        """
        found: dict[str, int] = {}
        others: set[str] = set()
        for file in self.entries(table):
            if code is not None and file.code != code:
                others |= file.units.keys()
                continue
            for unit, seq in file.units.items():
                found[unit] = max(seq, found.get(unit, 0))
        return {unit: seq for unit, seq in found.items() if unit not in others}

    def ledger(self) -> dict[str, BranchEntry]:
        """How far each branch was read, by its identity."""
        return {entry.branch: entry for entry in self._store.ledger_chunks.read(self.file.ledger)}


class Store:
    """The tables at one place."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.file_chunks = Chunks(files, StoredFile)
        self.ledger_chunks = Chunks(files, BranchEntry)

    @classmethod
    def at(cls, place: str) -> "Store":
        """The tables in a folder."""
        return cls(files_at(place))

    def newest(self) -> Build | None:
        """The newest build; None before the first."""
        numbers = self.numbers()
        while numbers:
            try:
                return self.build(numbers.pop())
            except FileNotFoundError:
                # Vacuum has deleted it since; there is a newer one.
                numbers = self.numbers()
        return None

    def build(self, number: int) -> Build:
        """A build by its number. Raises FileNotFoundError, and PlaceError for a damaged file."""
        name = build_name(number)
        with whole(self.files, name):
            return Build(self, unpacked(self.files.read(name), BuildFile))

    def numbers(self) -> list[int]:
        """The numbers of all builds that are kept, ascending."""
        return list(_numbers(self.files, _FOLDER))

    def create(self, file: BuildFile) -> Build:
        """Publishes a build. Raises FileExistsError if another one has its number."""
        self.files.create(build_name(file.build), packed(file))
        return Build(self, file)

    def pin(self, number: int, *, is_pinned: bool = True) -> None:
        """Pins a build so that vacuum keeps it, or unpins it. Raises FileNotFoundError if there is no such build."""
        name = f"{_PINS}/{number:012d}"
        if not is_pinned:
            self.files.delete(name)
            return
        self.build(number)
        self.files.write(name, b"")

    def pinned(self) -> set[int]:
        """The builds that are pinned."""
        return set(_numbers(self.files, _PINS))

    def for_spark(self, file: StoredFile) -> str:
        """The address at which Spark reads a file. Raises FileNotFoundError."""
        return self.files.for_spark(file.path)


def build_name(number: int) -> str:
    """The path of the file of a build."""
    return f"{_FOLDER}/{number:012d}.json.zst"


def _numbers(files: Files, folder: str) -> Iterator[int]:
    for name in files.names(folder):
        number = name.rpartition("/")[2].partition(".")[0]
        if number.isdigit():
            yield int(number)

"""Reads a study's file. Every error is reported with the file and the line."""

import itertools
import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from broker_core.config_defs import BROKER_CONFIGS, RETIRED_CONFIGS, ConfigException
from broker_core.eras import DEFAULT_ERA, ERAS
from broker_core.refusals import ShellError
from broker_core.texts import Text, text
from lab.exercises.bilingual import Bilingual
from lab.runtime.headless.booted import check_line
from lab.studies.definition import ERA_AXIS, FAULT_AXIS, Cell, Line, Place, Point, Study
from lab.studies.lines import Lines
from lab.studies.measures import MEASURES
from lab.texts.refusal import Refusal

_NAMED = re.compile(r"\{([^{}]+)\}")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FAULT_LINE = "{fault}"
_TOML_LINE = re.compile(r"\(at line (\d+)")
KEYS: dict[str, type | tuple[type, ...]] = {
    "title": dict, "question": dict, "answer": dict, "chapter": str, "seeds": (int, list), "eras": list, "brokers": int,
    "x": str, "measures": list, "settings": dict, "grid": dict, "faults": dict, "setup": str, "workload": str,
    "limits": dict,
}  # fmt: skip
NEEDED = ("title", "question", "seeds", "measures", "workload")
MAX_CELLS = 100_000
MAX_EVENTS, MAX_SIMULATED_S = 150_000, 600
MAX_BROKERS = 9
_SETTINGS = {**BROKER_CONFIGS, **RETIRED_CONFIGS}


class StudyError(Refusal):
    """An error in a study's file, at `line`."""

    line: int

    def __init__(self, file: str, line: int, problem: Text) -> None:
        super().__init__("refusal.study", file=file, line=line, problem=problem)
        self.line = line


def read_study(path: Path) -> Study:
    """The study in a file, TOML or JSON by its extension.

    Raises:
        StudyError: an error, with its line.
        OSError: the file cannot be read.
    """
    return compile_study(path.read_text(encoding="utf-8"), path.name, is_json=path.suffix == ".json")


def compile_study(source: str, file: str, *, is_json: bool = False) -> Study:
    """The study defined by a file's text. Raises StudyError."""
    try:
        said = json.loads(source) if is_json else tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        at = _TOML_LINE.search(str(error))
        line = int(at[1]) if at else len(source.splitlines())
        raise StudyError(file, line, text("study.syntax", said=str(error).partition(" (at ")[0])) from None
    except json.JSONDecodeError as error:
        raise StudyError(file, error.lineno, text("study.syntax", said=error.msg)) from None
    return _Compiler(source, file, said, is_json).study()


class _Compiler:
    def __init__(self, source: str, file: str, said: Any, is_json: bool) -> None:
        self._file = file
        self._lines = Lines(source, is_json=is_json)
        if not isinstance(said, dict):
            raise StudyError(file, 1, text("study.no_table"))
        self._said: dict[str, Any] = said

    def study(self) -> Study:
        """Raises StudyError."""
        self._check_keys()
        slug = Path(self._file).stem
        if not _SLUG.fullmatch(slug):
            raise StudyError(self._file, 1, text("study.slug", slug=slug))
        axes = self._axes()
        x = self._said.get("x", next((name for name, values in axes.items() if len(values) > 1), ""))
        if x not in axes:
            raise self._error("x", text("study.axis", name=str(x), names=", ".join(axes) or "-"))
        lines, measured_from = self._workload()
        self._check_names(axes, lines)
        self._check_settings(axes)
        seeds = self._seeds(math.prod(map(len, axes.values())))
        points = self._points(axes)
        cells = tuple(self._cell(point, seed, lines, measured_from) for point in points for seed in seeds)
        return Study(
            slug=slug, title=self._both("title"), question=self._both("question"),
            answer=self._both("answer") if "answer" in self._said else None, chapter=self._said.get("chapter", ""),
            seeds=seeds, axes=axes, x=x, measures=self._measures(), points=points, cells=cells,
        )  # fmt: skip

    def _error(self, key: str, problem: Text, *within: str) -> StudyError:
        return StudyError(self._file, self._lines.of(key, *within), problem)

    def _check_keys(self) -> None:
        for key, value in self._said.items():
            if key not in KEYS:
                raise self._error(key, text("study.unknown_key", key=key, keys=", ".join(KEYS)))
            expected = KEYS[key]
            if not isinstance(value, expected) or isinstance(value, bool):
                names = [kind.__name__ for kind in (expected if isinstance(expected, tuple) else (expected,))]
                raise self._error(key, text("study.type", key=key, expected=" / ".join(names)))
        for key in NEEDED:
            if key not in self._said:
                raise StudyError(self._file, 1, text("study.missing", key=key))
        brokers = self._said.get("brokers", 3)
        if not 1 <= brokers <= MAX_BROKERS:
            raise self._error("brokers", text("study.range", key="brokers", least=1, most=MAX_BROKERS))
        for key, most in (("events", MAX_EVENTS * 10), ("seconds", MAX_SIMULATED_S * 10)):
            value = self._said.get("limits", {}).get(key, 1)
            if not isinstance(value, int) or not 1 <= value <= most:
                raise self._error("limits", text("study.range", key=key, least=1, most=most), key)

    def _both(self, key: str) -> Bilingual:
        value = self._said[key]
        if set(value) != {"en", "zh"} or not all(isinstance(one, str) and one.strip() for one in value.values()):
            raise self._error(key, text("study.bilingual", key=key))
        return Bilingual(en=value["en"].strip(), zh=value["zh"].strip())

    def _seeds(self, points: int) -> tuple[int, ...]:
        said = self._said["seeds"]
        cells = points * (said if isinstance(said, int) else len(said))
        if cells > MAX_CELLS:
            # Before anything of this size is made.
            raise self._error("seeds", text("study.too_many", cells=cells, max=MAX_CELLS))
        seeds = list(range(1, said + 1)) if isinstance(said, int) else said
        if not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds) or len(set(seeds)) < len(seeds):
            raise self._error("seeds", text("study.seeds"))
        return tuple(seeds)

    def _axes(self) -> dict[str, tuple[str, ...]]:
        axes = {name: self._values("grid", name, values) for name, values in self._said.get("grid", {}).items()}
        for reserved in (ERA_AXIS, FAULT_AXIS):
            if reserved in axes:
                raise self._error("grid", text("study.reserved", name=reserved), reserved)
        eras = self._values("eras", "eras", self._said.get("eras", [DEFAULT_ERA]))
        for era in eras:
            if era not in ERAS:
                raise self._error("eras", text("study.era", era=era, eras=", ".join(ERAS)))
        axes[ERA_AXIS] = eras
        faults = self._said.get("faults", {})
        if faults:
            axes[FAULT_AXIS] = tuple(faults)
            for name, lines in faults.items():
                if not isinstance(lines, str):
                    raise self._error("faults", text("study.type", key=name, expected="str"), name)
        return axes

    def _values(self, key: str, name: str, values: Any) -> tuple[str, ...]:
        within = () if key == name else (name,)
        if not isinstance(values, list) or not values:
            raise self._error(key, text("study.values", name=name), *within)
        if not all(isinstance(value, str | int) for value in values):
            raise self._error(key, text("study.value", name=name), *within)
        said = tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in values)
        if len(set(said)) < len(said):
            raise self._error(key, text("study.twice", name=name), *within)
        return said

    def _measures(self) -> tuple[str, ...]:
        measures = self._said["measures"]
        for name in measures:
            if name not in MEASURES:
                raise self._error("measures", text("study.measure", name=str(name), names=", ".join(MEASURES)))
        if not measures:
            raise self._error("measures", text("study.values", name="measures"))
        return tuple(measures)

    def _text_lines(self, *path: str) -> list[Line]:
        block: Any = self._said
        for part in path:
            block = block.get(part, {})
        if not isinstance(block, str):
            return []
        first = self._lines.first_of_text(*path)
        step = 1 if first != self._lines.of(*path) else 0
        found = []
        for place, line in enumerate(block.splitlines()):
            said = line.strip()
            if said and not said.startswith("#"):
                found.append(Line(first + place * step, said))
        return found

    def _workload(self) -> tuple[list[Line], int]:
        setup = self._text_lines("setup")
        work = self._text_lines("workload")
        if not work:
            raise self._error("workload", text("study.no_lines", key="workload"))
        has_fault = any(line.text == _FAULT_LINE for line in work)
        if has_fault != bool(self._said.get("faults")):
            raise self._error("workload" if has_fault else "faults", text("study.fault_line"))
        return [*setup, *work], len(setup)

    def _check_names(self, axes: Mapping[str, Sequence[str]], lines: Sequence[Line]) -> None:
        names = set(axes) - {FAULT_AXIS}
        first = {name: values[0] for name, values in axes.items()}
        used = {ERA_AXIS}
        faults = [line for name in self._said.get("faults", {}) for line in self._text_lines("faults", name)]
        for line in (*lines, *faults):
            if line.text == _FAULT_LINE:
                continue
            used |= self._used(line.number, line.text, names)
            try:
                check_line(_filled(line.text, first))
            except ShellError as error:
                raise StudyError(
                    self._file, line.number, text("study.line", command=line.text, said=error.what)
                ) from None
        for name, value in self._said.get("settings", {}).items():
            if not isinstance(value, str | int):
                raise self._error("settings", text("study.value", name=name), name)
            used |= self._used(self._lines.of("settings", name), str(value), names)
        for name in self._said.get("grid", {}):
            if name not in used:
                raise self._error("grid", text("study.unused", name=name), name)

    def _check_settings(self, axes: Mapping[str, Sequence[str]]) -> None:
        """A broker starts with settings that do not exist; here they would make a study of nothing."""
        for name, value in self._said.get("settings", {}).items():
            key = _SETTINGS.get(name)
            if key is None:
                near = get_close_matches(name, _SETTINGS)
                found = text("study.unknown_setting_near", name=name, near=", ".join(near))
                raise self._error("settings", found if near else text("study.unknown_setting", name=name), name)
            said = _as_text(value)
            varied = [axis for axis in axes if axis in _NAMED.findall(said)]
            for values in itertools.product(*(axes[axis] for axis in varied)):
                try:
                    key.parse(_filled(said, dict(zip(varied, values, strict=True))))
                except ConfigException as error:
                    raise self._error("settings", text("study.setting_value", said=str(error)), name) from None

    def _used(self, line: int, said: str, names: set[str]) -> set[str]:
        found = set(_NAMED.findall(said))
        for name in found - names:
            raise StudyError(self._file, line, text("study.unknown_name", name=name, names=", ".join(sorted(names))))
        return found

    def _points(self, axes: Mapping[str, Sequence[str]]) -> tuple[Point, ...]:
        places = itertools.product(*axes.values())
        return tuple(Point(number, dict(zip(axes, values, strict=True))) for number, values in enumerate(places))

    def _cell(self, point: Point, seed: int, lines: Sequence[Line], measured_from: int) -> Cell:
        place = point.place
        typed: list[Line] = []
        for line in lines:
            if line.text == _FAULT_LINE:
                typed += (Line(one.number, _filled(one.text, place)) for one in
                          self._text_lines("faults", place[FAULT_AXIS]))  # fmt: skip
            else:
                typed.append(Line(line.number, _filled(line.text, place)))
        limits = self._said.get("limits", {})
        return Cell(
            point=point.number, seed=seed, era=place[ERA_AXIS], brokers=self._said.get("brokers", 3),
            settings={name: _filled(_as_text(value), place) for name, value in self._said.get("settings", {}).items()},
            lines=tuple(typed), measured_from=measured_from, max_events=limits.get("events", MAX_EVENTS),
            max_simulated_s=limits.get("seconds", MAX_SIMULATED_S),
        )  # fmt: skip


def _as_text(value: str | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filled(said: str, place: Place) -> str:
    """The text with placeholders replaced with the point's values."""
    return _NAMED.sub(lambda named: place.get(named[1], named[0]), said)

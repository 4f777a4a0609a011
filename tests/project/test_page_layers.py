"""The layers of the page's modules, and no import cycles. Imports of types count as well."""

import re
import shutil
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.paths import ROOT

IMPORT = re.compile(r'(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"')

#: Each folder of static/lab, and the folders that its modules may import besides their own. A folder that is not listed
#: belongs to the closest one above it that is.
CORE = ("core", "core/events", "core/view", "core/bytes", "core/recording", "core/live", "core/player")
PANELS = (*CORE, "core/layout", "core/actions", "draw", "ui/kit", "ui/store", "ui/parts")
SCREENS = ("ui/screens/alarms", "ui/screens/clients", "ui/screens/disk", "ui/screens/zookeeper")
#: It shows the elements of other pages, which are not imported by each other.
SHOWN = ("alone", "alone/class", "classroom", "inspect_files", "lab", "replay")
GALLERY = (*PANELS, "core/classroom", "core/replay", "own_files", "ui/classroom", "ui/pages")
LAYERS: dict[str, tuple[str, ...]] = {
    "core": (),
    "core/events": ("core",),
    "core/view": ("core", "core/events"),
    "core/bytes": ("core",),
    "core/recording": ("core", "core/events", "core/view"),
    "core/live": ("core", "core/events", "core/view", "core/recording"),
    "core/player": CORE,
    "core/classroom": ("core", "core/events", "core/live", "core/view"),
    "core/sound": ("core",),
    "core/replay": ("core", "core/classroom", "core/events", "core/view"),
    "core/layout": CORE,
    "core/actions": ("core", "core/view"),
    "draw": (*CORE, "core/layout", "core/actions"),
    "dev": (),
    "own_files": (),
    "ui/kit": (*CORE, "core/layout"),
    "ui/store": (*CORE, "ui/kit"),
    "ui/parts": (*CORE, "core/layout", "core/actions", "draw", "ui/kit", "ui/store"),
    "ui/act": PANELS,
    "ui/inspect": PANELS,
    **dict.fromkeys(SCREENS, PANELS),
    "ui/shell": (*PANELS, "ui/act"),
    "ui/classroom": ("core", "core/classroom", "core/sound", "ui/kit"),
    "ui/pages": PANELS,
    "ui/pages/inspect_files": ("own_files", "ui/kit", "ui/store", "ui/parts"),
    "ui/pages/classroom": ("core/classroom", "ui/classroom", "ui/kit"),
    "ui/pages/replay": (*PANELS, "core/classroom", "core/replay", "ui/classroom"),
    "ui/pages/gallery": (*GALLERY, *(f"ui/pages/{name}" for name in SHOWN)),
    "ui/pages/alone": (*PANELS, "ui/inspect", *SCREENS, "ui/shell", "ui/pages/lab"),
    "ui/pages/alone/class": (*("core", "core/replay", "ui/classroom", "ui/kit", "ui/pages/alone", "ui/pages/replay"),),
    "ui/pages/lab": (*PANELS, "core/classroom", "ui/act", "ui/classroom", "ui/inspect", *SCREENS, "ui/shell"),
}


def layer_of(path: str) -> str:
    """The listed folder that a module belongs to."""
    folder = path.rpartition("/")[0]
    while folder and folder not in LAYERS:
        folder = folder.rpartition("/")[0]
    return folder


def imports(folder: Path) -> dict[str, set[str]]:
    """The modules below a folder, each with the modules that it imports, as paths from there."""
    return {
        path.relative_to(folder).as_posix(): {
            (path.parent / name).resolve().relative_to(folder).as_posix()
            for name in IMPORT.findall(path.read_text(encoding="utf-8"))
        }
        for suffix in ("js", "ts")
        for path in folder.rglob(f"*.{suffix}")
        if path.relative_to(folder).parts[0] != "connect"
    }


def violations(folder: Path) -> list[str]:
    """The imports against the layers, each as one line."""
    return [
        f"{module} imports {imported}"
        for module, names in sorted(imports(folder).items())
        for imported in sorted(names)
        if layer_of(imported) not in (layer_of(module), *LAYERS[layer_of(module)])
    ]


def circle(folder: Path) -> list[str]:
    """A cycle of modules, empty if there is none."""
    try:
        TopologicalSorter(imports(folder)).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "static/lab", tmp_path / "lab")
    return tmp_path / "lab"


def plant(folder: Path, module: str, imported: str) -> None:
    with (folder / module).open("a", encoding="utf-8") as source:
        source.write(f'\nimport "{imported}";\n')


def test_layers_hold() -> None:
    assert violations(ROOT / "static/lab") == []


def test_page_modules_have_no_cycle() -> None:
    assert circle(ROOT / "static/lab") == []


def test_every_module_belongs_to_a_layer() -> None:
    modules = imports(ROOT / "static/lab")
    assert {module for module in modules if not layer_of(module)} == set()
    assert {layer_of(module) for module in modules} == set(LAYERS)


def test_no_folder_holds_more_than_25_modules() -> None:
    modules = list(imports(ROOT / "static/lab"))
    folders = {module.rpartition("/")[0] for module in modules}
    assert max(sum(module.rpartition("/")[0] == folder for module in modules) for folder in folders) <= 25


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("core/view/selectors.js", "../player/player.js"),
        ("draw/stage.js", "../ui/kit/i18n.js"),
        ("ui/kit/format.js", "../store/state.js"),
        ("ui/store/api.js", "../parts/common.js"),
        ("ui/parts/tabs.js", "../shell/inspector.js"),
        ("ui/inspect/rpc.js", "../act/produce.js"),
        ("ui/screens/disk/find.js", "../alarms/index.js"),
        ("ui/shell/side.js", "../pages/lab/keys.js"),
        ("own_files/names.js", "../core/last_index.js"),
    ],
)
def test_planted_import_is_caught(copy: Path, module: str, imported: str) -> None:
    plant(copy, module, imported)
    assert len(violations(copy)) == 1


def test_planted_cycle_is_caught(copy: Path) -> None:
    plant(copy, "ui/store/state.js", "./time.js")
    found = circle(copy)
    assert "ui/store/state.js" in found
    assert "ui/store/time.js" in found

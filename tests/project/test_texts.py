"""The catalogues of texts: the same messages in both languages, each of them used, and none missing."""

import ast
import json
import re
from collections.abc import Collection, Iterable
from functools import cache

import pytest

from broker_core.events import KINDS
from broker_core.texts import LANGUAGES, TextError, catalogue
from broker_core.texts.catalogues import PLACE, read
from lab.exercises.quantities import QUANTITIES
from lab.texts import CATALOGUES
from lab.texts.i18n import translate
from tests.support.catalogues import Use, flaws, messages, misused, uses
from tests.support.paths import ROOT

CORE = ROOT / "broker_core" / "texts"
LAB, PAGE = CATALOGUES
FOLDERS = (CORE, LAB, PAGE)
PYTHON = [*ROOT.glob("broker_core/**/*.py"), *ROOT.glob("lab/**/*.py"), *ROOT.glob("devtools/**/*.py")]
PAGES = [*ROOT.glob("static/lab/**/*.js"), *ROOT.glob("templates/**/*.html")]
#: messages that the server renders or sends; those of the page are asked for by its own sources
MESSAGES = read([CORE, LAB], "en")
FAMILIES = frozenset(id.partition(".")[0] for id in MESSAGES)
#: a line of the console is the same in both languages
PLAIN = ("console.placeholder",)

EN, ZH = (catalogue(language) for language in LANGUAGES)
#: `t("key"`, `this.#t("key"`, `{% t "key" %}`, `t(condition ? "one" : "other"`
ASKED = [
    re.compile(r'\bt\("([a-z_]+\.[\w.]+)"'),
    re.compile(r"""{%\s*t(?:_other)?\s+["']([a-z_]+\.[\w.]+)["']"""),
    re.compile(r'\bt\([^()"]*\? "([a-z_]+\.[\w.]+)" : "[a-z_]+\.[\w.]+"'),
    re.compile(r'\bt\([^()"]*\? "[a-z_]+\.[\w.]+" : "([a-z_]+\.[\w.]+)"'),
]
#: ids named in full, and beginnings of ids whose end is computed: `tab.${name}`, f"era.{name}", {% t_of "role" role %}
NAMED = re.compile(r"""["'`]([a-z_]+\.[\w.]+)["'`]""")
BEGUN = [
    re.compile(r"`([a-z_]+\.[\w.]*)\$\{"),
    re.compile(r"""f["']([a-z_]+\.[\w.]*)\{"""),
    re.compile(r"""["']([a-z_]+\.[\w.]*)["'] \+"""),
]
FAMILY = [
    re.compile(r"""{%\s*t_of\s+["']([a-z_.]+)["']"""), re.compile(r"""\bword\("([a-z_.]+)", """),
    re.compile(r"""\.value\("([a-z_.]+)", """), re.compile(r"""\bvalues={"\w+": "([a-z_.]+)"""),
]  # fmt: skip


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_catalogues_agree_in_both_languages(folder) -> None:
    assert flaws(folder, PLAIN) == []


def test_offset_has_one_name_in_chinese() -> None:
    texts = read(FOLDERS, "zh-CN")
    assert [id for id, text in texts.items() if "偏移量" in text] == []


#: terms of the glossary -> what else they have been called in Chinese
OTHER_NAMES = {"assignor": "分配器", "era": "时代", "lead": "带领", "lesson": "练习"}
#: one cluster is 实验, the program 实验室
A_LAB = re.compile(r"(你的|\} 的|学员的|这个|打开)实验室")


def test_terms_have_one_name_in_chinese() -> None:
    texts = read(FOLDERS, "zh-CN")
    assert {id: text for id, text in texts.items() for name in OTHER_NAMES.values() if name in text} == {}
    assert {id for id, text in texts.items() if A_LAB.search(text)} == {
        "refusal.not_signed_in.todo",
        "refusal.sign_in_first",
        "sign_in.title",
    }


@cache
def used() -> tuple[Use, ...]:
    return tuple(uses(PYTHON, FAMILIES))


def test_sources_name_messages_that_are_there_with_the_values_that_they_take() -> None:
    assert misused(used(), MESSAGES) == []


def test_every_message_of_the_server_is_used() -> None:
    named = {id for use in used() for id in messages(use.id, MESSAGES)} | {f"event.{kind}" for kind in KINDS}
    named |= {f"quantity.{name}" for name in QUANTITIES}
    unused = {id for id in MESSAGES if id.removesuffix(".one") not in named}
    assert {id for id in unused if not id.startswith("value.")} == set()


def test_sentence_of_every_kind_of_event_names_its_fields() -> None:
    for name, kind in KINDS.items():
        assert set(PLACE.findall(MESSAGES[f"event.{name}"])) <= set(kind.__struct_fields__), name


def test_name_of_every_quantity_takes_its_arguments() -> None:
    for name, quantity in QUANTITIES.items():
        places = {place for one in quantity.checks for place in (("partition", "node") if one == "replica" else (one,))}
        assert set(PLACE.findall(MESSAGES[f"quantity.{name}"])) <= places, name


def test_every_enumerated_value_is_a_value_that_the_core_has() -> None:
    constants = {
        node.value
        for path in ROOT.glob("broker_core/**/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
    }
    terms = {id.removeprefix("value.") for id in MESSAGES if id.startswith("value.")}
    assert {term for term in terms if term.replace("_", " ") not in constants} == set()


def asked_keys() -> dict[str, str]:
    """Keys that sources of the page name in full, with the file that does."""
    return {
        key: str(path.relative_to(ROOT))
        for path in PAGES
        for pattern in ASKED
        for key in pattern.findall(path.read_text(encoding="utf-8"))
    }


def test_every_key_that_a_page_asks_for_has_a_text() -> None:
    requested = asked_keys()
    assert len(requested) > 300
    assert {key: path for key, path in requested.items() if key not in EN} == {}


def unused_keys(catalogue: Collection[str], sources: Iterable[str]) -> set[str]:
    """Keys that no source names, neither in full nor by their beginning."""
    named: set[str] = set()
    begun: set[str] = set()
    for source in sources:
        named.update(NAMED.findall(source))
        begun.update(start for pattern in BEGUN for start in pattern.findall(source))
        begun.update(f"{family}." for pattern in FAMILY for family in pattern.findall(source))
    keys = {key for key in catalogue if not (key.endswith(".one") and key.removesuffix(".one") in catalogue)}
    return {key for key in keys - named if not key.startswith(tuple(begun))}


def test_every_text_of_the_page_is_used() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (*PAGES, *PYTHON))
    assert unused_keys(read([PAGE], "en").keys(), sources) == set()


def test_unused_text_of_the_page_is_found() -> None:
    catalogue = ("a.x", "a.x.one", "a.y", "b.p", "c.q_1", "d.r", "e.s")
    sources = ('t("a.x", { n })', "t(`b.${kind}`)", 'translate(language, f"c.q_{n}")', '{% t_of "d" state %}')
    assert unused_keys(catalogue, sources) == {"a.y", "e.s"}


def test_singular_has_its_own_text() -> None:
    assert translate("en", "runs.brokers", n=1) == "1 broker"
    assert translate("en", "runs.brokers", n=3) == "3 brokers"
    assert translate("zh-CN", "runs.brokers", n=1) == "1 个 broker"


def test_missing_value_in_a_page_text_is_a_defect() -> None:
    with pytest.raises(TextError):
        translate("en", "no.such")
    with pytest.raises(TextError):
        translate("de", "runs.title")


@pytest.fixture
def damaged(tmp_path):
    """Writes a folder of catalogues: file to content."""

    def write(**content: dict[str, str]):
        for name, templates in content.items():
            family, _, language = name.partition("_")
            path = tmp_path / {"en": "en", "zh": "zh-CN"}[language] / f"{family}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(templates), encoding="utf-8")
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("english", "chinese", "flaw"),
    [
        ({"a.x": "one {n}"}, {"a.x": "一 {n}", "a.y": "二"}, "a.y is in one language only"),
        ({"a.x": "one {n}"}, {"a.x": "一 {m}"}, "a.x has other places in Chinese"),
        ({"a.x": "another message"}, {"a.x": "another message"}, "a.x is not in Chinese"),
        ({"a.x": "一"}, {"a.x": "一"}, "a.x is not in English"),
        ({"a.y": "y", "a.x": "x"}, {"a.x": "一", "a.y": "二"}, "en/a.json is not sorted by id"),
        ({"b.x": "x"}, {"b.x": "一"}, "b.x is in en/a.json"),
        ({"a.x": "{n} of them", "a.x.one": "1 of {them}"}, {"a.x": "{n} 个"}, "a.x.one has places that a.x has not"),
    ],
)
def test_damaged_catalogue_is_found(damaged, english, chinese, flaw) -> None:
    assert flaw in flaws(damaged(a_en=english, a_zh=chinese))


def test_id_in_two_catalogues_is_found(damaged) -> None:
    folder = damaged(a_en={"a.x": "x"}, b_en={"a.x": "x"}, a_zh={"a.x": "一"})
    assert flaws(folder) == ["a.x of b.json is also in another catalogue"]


def test_wrong_use_is_found(tmp_path) -> None:
    source = tmp_path / "source.py"
    lines = [
        'text("a.x", n=1)',
        'text("a.z")',
        'f"a.x?n={1}&m=(a.y?k={2})"',
        'f"a.x?m={1}"',
        'f"a.x?n=(a.w)&m={1}"',
        '"a.y"',
        'f"a.y.{1}"',
        'text("a.y", **more)',
        'Refusal("a.r", status=404, n=1)',
        'Refusal("a.r", 404)',
        'Refusal("a.s")',
        'answer("a.p", True, n=1, m=2)',
        'answer("a.p", True, n=1)',
    ]
    source.write_text("\n".join(lines))
    used = list(uses([source], frozenset({"a"})))
    assert Use("a.x", frozenset({"n", "m"}), "source.py:3") in used
    rejections = {"a.r.what": "{n}", "a.r.expected": "e", "a.r.todo": "t", "a.s.what": "w", "a.s.todo": "t"}
    answers = {"a.p.met": "{n}", "a.p.unmet": "{m}"}
    assert set(misused(used, {"a.x": "{n} {m}", "a.y": "y", **rejections, **answers})) == {
        "source.py:1 gives a.x ['n']",
        "source.py:2 names a.z, which no catalogue has",
        "source.py:4 gives a.x ['m']",
        "source.py:5 names a.w, which no catalogue has",
        "source.py:10 gives a.r []",
        "source.py:11 names a.s, which no catalogue has",
        "source.py:13 gives a.p ['n']",
    }

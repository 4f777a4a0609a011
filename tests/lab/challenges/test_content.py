"""The content of challenges."""

from pathlib import Path

import pytest

from lab.challenges.loader import CONTENT, challenges, load
from lab.exercises.loader import ContentError


def test_ten_challenges_in_the_order_of_their_numbers() -> None:
    assert [challenge.number for challenge in challenges().values()] == list(range(1, 11))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("number = 3", "number = 4"), "Expected 3"),
        (('kind = "attack"', 'kind = "siege"'), "Invalid enum value 'siege'"),
        (("[title]", "[title"), "not valid TOML"),
        (("number = 3", "number = 3\npoints = 2"), "unknown field `points`"),
    ],
)
def test_damaged_definition_is_refused_with_its_place(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    folder = tmp_path / "c3-two-owners"
    folder.mkdir()
    text = (CONTENT / folder.name / "challenge.toml").read_text(encoding="utf-8")
    (folder / "challenge.toml").write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(ContentError, match=says) as caught:
        load(folder)
    assert str(caught.value).startswith("c3-two-owners/challenge.toml: ")


def test_folder_with_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match="Expected a folder like c1-some-words"):
        load(tmp_path)

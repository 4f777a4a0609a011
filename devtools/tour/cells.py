"""The cells of a lane on a canvas: where one is, and what it looks like."""

from typing import TypedDict

from playwright.sync_api import Locator

_CANVAS = """
  const name = lane.querySelector(".hw-lane-name").getBoundingClientRect();
  const y = (name.top + name.bottom) / 2;
  const canvas = [...document.querySelectorAll(".hw-cells")].find((one) => {
    const box = one.getBoundingClientRect();
    return box.top <= y && y < box.bottom;
  });
  const box = canvas.getBoundingClientRect();
  const pitch = Number(canvas.dataset.pitch);
  const first = Number(canvas.dataset.first);
"""
_PLACE = f"""(lane, offset) => {{ {_CANVAS}
  return {{ x: box.left + (offset - first + 0.45) * pitch, y }};
}}"""
#: The middle of a cell's upper edge, where no digit comes: a committed cell is filled there, an open one hardly.
_LOOKS = f"""(lane) => {{ {_CANVAS}
  const ratio = canvas.width / box.width;
  const row = Math.round(((name.top + name.bottom) / 2 - box.top - 7) * ratio);
  const slots = Math.floor(box.width / pitch);
  const context = canvas.getContext("2d");
  const filled = [...Array(slots).keys()].map((slot) =>
    context.getImageData(Math.round((slot + 0.45) * pitch * ratio), row, 1, 1).data[3] / 255);
  return {{ slots, pitch, committed: filled.filter((one) => one > 0.2).length,
    open: filled.filter((one) => one > 0.02 && one <= 0.2).length }};
}}"""


class Cells(TypedDict):
    """What the canvas shows of a lane: how many cells fit, how wide each is in CSS pixels, and how many are which."""

    slots: int
    pitch: float
    committed: int
    open: int


def cells_of(lane: Locator) -> Cells:
    """Counts the cells by their pixels."""
    seen: Cells = lane.evaluate(_LOOKS)
    return seen


def click_record(lane: Locator, offset: int) -> None:
    """Clicks at the cell of an offset, which has to be in sight."""
    place = lane.evaluate(_PLACE, offset)
    lane.page.mouse.move(place["x"], place["y"])
    lane.page.mouse.click(place["x"], place["y"])

"""Signatures of the gallery's pictures, and what tells two of them apart."""

from typing import Any, TypedDict

CELLS = 10
"""Cells of a signature in each direction."""
HUES = 24
MIN_SATURATION = 48
"""By how much the strongest part of a pixel's colour exceeds its weakest one (0 to 255) where it has a hue."""

MAX_WIDTH_DIFFERENCE = 2
MAX_HEIGHT_RATIO = 1.15
MIN_HEIGHT_DIFFERENCE = 26
"""Pixels: a line more or less, which another font may make, is not a difference."""
MAX_MEAN = {"brightness": 8.0, "colour": 4.0}
MAX_CELL = {"brightness": 80.0, "colour": 40.0}
"""Differences (0 to 255) over all cells and in one of them."""
MIN_HUE_SHARE = 6
"""Of a picture's pixels, in parts of 10 000, for a hue that has to stay."""
MAX_HUE_RATIO = 4


class Signature(TypedDict):
    """What is recorded of the picture of an element in a state.

    Attributes:
        size: width and height in pixels.
        hues: how much of the picture each hue covers, from red over green and blue, in parts of 10 000.
        cells: the mean colour of each cell, row by row, in six hexadecimal digits each.
    """

    size: list[int]
    hues: list[int]
    cells: str


def difference(before: Signature, now: Signature) -> str:
    """What is different, in words; empty when nothing that counts is."""
    return _of_size(before["size"], now["size"]) or _of_hues(before["hues"], now["hues"]) or _of_cells(before, now)


def _of_size(before: list[int], now: list[int]) -> str:
    (width, height), (new_width, new_height) = before, now
    if abs(width - new_width) > MAX_WIDTH_DIFFERENCE:
        return f"its width was {width} and is {new_width}"
    low, high = sorted((height, new_height))
    if high > MAX_HEIGHT_RATIO * low and high - low > MIN_HEIGHT_DIFFERENCE:
        return f"its height was {height} and is {new_height}"
    return ""


def _of_hues(before: list[int], now: list[int]) -> str:
    for hue in range(HUES):
        for had, has, what in ((before, now, "lost"), (now, before, "got")):
            # At the border of two hues a pixel may belong to either.
            near = sum(has[(hue + by) % HUES] for by in (-1, 0, 1))
            if had[hue] >= MIN_HUE_SHARE and had[hue] > MAX_HUE_RATIO * near:
                return f"it has {what} the hue {hue * 360 // HUES} to {(hue + 1) * 360 // HUES} degrees"
    return ""


def _of_cells(before: Signature, now: Signature) -> str:
    pairs = list(zip(_colours(before["cells"]), _colours(now["cells"]), strict=True))
    for part, differences in (
        ("brightness", [_brightness(*pair) for pair in pairs]),
        ("colour", [_chroma(*pair) for pair in pairs]),
    ):
        mean = sum(differences) / len(differences)
        if mean > MAX_MEAN[part]:
            return f"mean difference of {part} {mean:.1f}, at most {MAX_MEAN[part]} is accepted"
        most = max(differences)
        if most > MAX_CELL[part]:
            row, column = divmod(differences.index(most), CELLS)
            return f"the {part} of cell {column}, {row} differs by {most:.0f}, at most {MAX_CELL[part]:.0f} is accepted"
    return ""


Colour = tuple[int, int, int]


def _colours(cells: str) -> list[Colour]:
    parts = bytes.fromhex(cells)
    return [(parts[at], parts[at + 1], parts[at + 2]) for at in range(0, len(parts), 3)]


def _luma(colour: Colour) -> float:
    red, green, blue = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _brightness(a: Colour, b: Colour) -> float:
    return abs(_luma(a) - _luma(b))


def _chroma(a: Colour, b: Colour) -> float:
    """How far two colours are apart that would be equally bright."""
    (luma_a, luma_b) = (_luma(a), _luma(b))
    return max(abs((a[part] - luma_a) - (b[part] - luma_b)) for part in (0, 2))


def made(values: Any) -> dict[str, Signature]:
    """The signatures that the page has measured, by element."""
    return {
        str(name): Signature(size=one["size"], hues=one["hues"], cells=one["cells"]) for name, one in values.items()
    }

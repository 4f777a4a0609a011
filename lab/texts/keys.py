"""Keys in the texts of lessons. `manage.py gen_events` writes them for the page."""

import re

CONTROLS = {
    "Space": "play", "空格": "play", "Enter": "step", "Tab": "complete", "]": "speed", "G": "groups", "`": "console"
}  # fmt: skip
"""The symbols of the controls whose keys a text names."""

_NAMES = "|".join(re.escape(key) for key in CONTROLS if key != "`")
KEY_OF_A_CONTROL = rf"[(（](?:`(?:{_NAMES})`|`` ` ``)[)）]"
"""A key in parentheses after what it does: play (`Space`). The page shows it beside the symbol of its control; a phone,
which has no keys, shows only the symbol.
"""


def files() -> dict[str, str]:
    """The generated file: path below the repository's root, and text."""
    controls = ", ".join(f'"{key}": "{symbol}"' for key, symbol in CONTROLS.items())
    lines = (
        "// Written by `manage.py gen_events` from lab/texts/keys.py. Do not change it by hand.",
        "",
        "/** The symbols of the controls whose keys a text names. @type {Record<string, string>} */",
        f"export const CONTROLS = {{ {controls} }};",
        '/** A key after the name of what it does, as in "play (`Space`)". */',
        f"export const KEY_OF_A_CONTROL = /{KEY_OF_A_CONTROL}/g;",
    )
    return {"static/lab/ui/kit/keys.gen.js": "\n".join(lines) + "\n"}

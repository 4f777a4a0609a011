"""Keys in the texts of lessons."""

KEY_OF_A_CONTROL = r"[(（](?:`(?:Space|空格|Enter|Tab|\]|G)`|`` ` ``)[)）]"
"""A key in parentheses after what it does: play (`Space`). The page shows it beside the symbol of its control; a phone,
which has no keys, shows only the symbol. `static/lab/ui/kit/words.js` has the same pattern.
"""

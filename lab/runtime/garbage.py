"""How often Python looks for garbage in cycles, in a process that hosts engines.

An engine makes many small objects and no cycles: reference counts free them all. A collector that looks after every
700 objects, as Python's does by itself, spends a tenth of the time to find nothing.
"""

import gc

YOUNG_OBJECTS = 50_000


def look_rarely() -> None:
    """Looks after 50,000 new objects, and never again at what is there now: modules, classes, settings."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)

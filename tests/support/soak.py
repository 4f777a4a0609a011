"""Whether `make soak` runs: random tests at their full counts, all seeds, the whole walk of the tour."""

import os

IS_SOAK = bool(os.environ.get("HIGHWATER_SOAK"))

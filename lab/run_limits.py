"""What a run may be: the limits of forms, commands, lessons and imported files."""

MAX_BROKERS = 7
MAX_SEED = 2**32 - 1

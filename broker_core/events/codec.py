"""Events of the core to bytes and back: `[at_us, node, cause_seq, [kind, field, ...]]`, see `Vocabulary`."""

# Importing the package registers all kinds.
from broker_core.events import CORE
from broker_core.events.vocabulary import encode_with_patch

__all__ = ["decode", "encode", "encode_all", "encode_with_patch"]

encode = CORE.encode
encode_all = CORE.encode_all
decode = CORE.decode

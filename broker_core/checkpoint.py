"""A run's state as bytes, without objects that belong to the process: the disk, ZooKeeper, the grammar of the shell."""

import io
import pickle
from collections.abc import Mapping
from typing import Any


def dump(state: dict[str, Any], outside: Mapping[str, object]) -> bytes:
    """The pickled `state`. The objects of `outside` are replaced by their names."""
    buffer = io.BytesIO()
    _Pickler(buffer, outside).dump(state)
    return buffer.getvalue()


def load(checkpoint: bytes, outside: Mapping[str, object]) -> dict[str, Any]:
    """Reverses `dump`. `outside`: the objects that take the places of those left out, under the same names."""
    state: dict[str, Any] = _Unpickler(io.BytesIO(checkpoint), outside).load()
    return state


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, outside: Mapping[str, object]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._names = {id(one): name for name, one in outside.items()}

    # Not persistent_id: that is called for every number and every name, and takes most of the time.
    def reducer_override(self, obj: Any) -> Any:
        name = self._names.get(id(obj))
        return NotImplemented if name is None else (_placeholder, (name,))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, outside: Mapping[str, object]) -> None:
        super().__init__(file)
        self._outside = outside

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) == (__name__, _placeholder.__name__):
            return self._outside.__getitem__
        return super().find_class(module_name, global_name)


def _placeholder(name: str) -> Any:
    """The reader replaces it with the object of that name."""
    raise LookupError(f"{name} of a run can be put in place by Run.restore alone")

"""The view: the state folded from all events so far, as one JSON tree. It is folded only here."""

from broker_core.view.fold import Fold, empty_view
from broker_core.view.patch import Patch

__all__ = ["Fold", "Patch", "empty_view"]

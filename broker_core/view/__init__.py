"""The view: what all events so far add up to, as one JSON tree. Folded here and nowhere else."""

from broker_core.view.fold import Fold, empty_view
from broker_core.view.patch import Patch

__all__ = ["Fold", "Patch", "empty_view"]

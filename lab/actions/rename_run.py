"""Another name for a run. Its address and its recording stay."""

from lab.actions.start_run import checked_name
from lab.models import Run


def rename_run(run: Run, name: str) -> None:
    """Raises Refusal for a name that is empty or too long."""
    run.name = checked_name(name)
    run.save(update_fields=["name"])

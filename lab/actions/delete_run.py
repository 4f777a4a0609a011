"""Deletes a run: its engines, recordings and files."""

import asyncio

from lab.actions.classes.shown_labs import keep_labs_of_run
from lab.models import Run
from lab.recordings.folder import remove_run_folder
from lab.runtime.host import Host
from lab.texts.refusal import Refusal


async def delete_run(host: Host, run: Run, *, confirmed: bool) -> None:
    """Deletes a run permanently, except for what recordings of classes show of it. Raises Refusal unless it was
    confirmed.
    """
    if not confirmed:
        raise Refusal("refusal.deletion_not_confirmed", run=run.name)
    await keep_labs_of_run(host, run)
    await host.close_run(run.slug)
    slug = run.slug
    await run.adelete()
    await asyncio.to_thread(remove_run_folder, slug)

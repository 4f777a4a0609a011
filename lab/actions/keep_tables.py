"""Takes out of the tables what people deleted and what is too old, beside the event loop and without Spark."""

import asyncio
import logging
from collections.abc import Set
from threading import Lock

from asgiref.sync import sync_to_async
from django.conf import settings

from lab.analytics.limits import Known, is_own, known, remove_deleted, remove_old
from lab.analytics.store.builds import Store
from lab.analytics.store.vacuum import vacuum
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

_WORK = Lock()
"""One at a time: each rewrites the same files, and deletes those of older builds."""


async def erase_from_tables(people: Set[str] = frozenset(), logs: Set[str] = frozenset()) -> None:
    """Takes people, histories and runs that were deleted out of all tables. Raises Refusal (503) if they may still be
    in some: `keep_tables` tries again.

    Args:
        people: pseudonyms of those who were erased, from before the database forgot who they are.
        logs: names of the logs of histories and classes that were deleted.
    """
    try:
        await _removed(people, logs, is_old_kept=True)
    except Exception as error:
        logger.exception("what was deleted could not be taken out of the tables")
        raise Refusal("refusal.tables_not_erased", 503, problem=str(error) or type(error).__name__) from error


async def keep_tables() -> None:
    """The same, and takes out what is older than HIGHWATER_TABLE_DAYS."""
    await _removed(frozenset(), frozenset(), is_old_kept=False)


async def _removed(people: Set[str], logs: Set[str], *, is_old_kept: bool) -> None:
    def work(lab: Known) -> None:
        store = Store.at(str(settings.TABLES))
        remove_deleted(store, lab, people, logs)
        if not is_old_kept and is_own(store, lab) and remove_old(store, lab.logs):
            # Older builds have it, too; pinned ones keep it.
            vacuum(store, keep=1, young_s=0)

    def alone() -> None:
        with _WORK:
            work(lab)

    lab = await sync_to_async(known)()
    await asyncio.to_thread(alone)

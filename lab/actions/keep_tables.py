"""Takes out of the tables what people deleted and what is too old, beside the event loop and without Spark."""

import asyncio
import logging

from asgiref.sync import sync_to_async
from django.conf import settings

from lab.analytics.build.logs import every_log
from lab.analytics.limits import remove_deleted, remove_old
from lab.analytics.store.builds import Store
from lab.analytics.store.vacuum import vacuum
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)


async def erase_from_tables() -> None:
    """Takes people, histories and runs that were deleted out of all tables. Raises Refusal (503) if they may still be
    in some: `keep_tables` tries again.
    """
    try:
        await _removed(is_old_kept=True)
    except Exception as error:
        logger.exception("what was deleted could not be taken out of the tables")
        raise Refusal("refusal.tables_not_erased", 503, problem=str(error) or type(error).__name__) from error


async def keep_tables() -> None:
    """The same, and takes out what is older than HIGHWATER_TABLE_DAYS."""
    await _removed(is_old_kept=False)


async def _removed(*, is_old_kept: bool) -> None:
    store = await asyncio.to_thread(Store.at, str(settings.TABLES))
    if await asyncio.to_thread(store.newest) is None:
        return
    found = await sync_to_async(every_log)()
    await asyncio.to_thread(remove_deleted, store, found)
    removed = 0 if is_old_kept else await asyncio.to_thread(remove_old, store, found)
    if removed:
        # Older builds have it, too.
        await asyncio.to_thread(vacuum, store, keep=1, young_s=0)

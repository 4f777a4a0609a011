"""The write-ahead log of SQLite."""

from django.db import connection


def empty_log() -> None:
    """Moves the log into the database and empties its file, which still has what changed rows contained before. Must be
    called outside a transaction. A thread that is reading meanwhile is waited for, as long as for a transaction; the
    next call empties what could not be emptied then.
    """
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.fetchall()

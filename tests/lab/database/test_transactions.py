"""Transactions of many threads: none is refused because others come before it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, connections, transaction

from lab.database.base import Turns
from lab.models import Class
from tests.support.classroom.people import make_class, make_user
from tests.support.lab_server import PATIENCE_S


def test_transactions_of_many_threads_wait_for_each_other(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where SQLite does not wait at all."""
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0)
    made = make_class(make_user("turns-lin", is_staff=True))

    def add(n: int) -> None:
        try:
            for _ in range(20):
                with transaction.atomic():
                    row = Class.objects.get(pk=made.pk)
                    row.title += "x"
                    row.save(update_fields=["title"])
        finally:
            connections.close_all()

    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(add, range(8)))
        made.refresh_from_db()
        assert made.title.endswith("x" * 160)
    finally:
        made.delete()


def test_transaction_that_fails_or_whose_connection_closes_lets_the_next_one_begin(database: None) -> None:
    def end(how: str) -> None:
        try:
            with transaction.atomic():
                if how == "close":
                    connection.close()
                raise ZeroDivisionError
        except ZeroDivisionError:
            return
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        for how in ("raise", "close"):
            pool.submit(end, how).result(PATIENCE_S)
    with transaction.atomic():
        assert not Class.objects.filter(title="nobody's").exists()


def test_turns_are_granted_in_order_of_arrival_and_never_to_a_cancelled_waiter() -> None:
    turns, order = Turns(), list[int]()
    assert turns.take(0) and not turns.take(0.01)

    def wait(n: int) -> None:
        assert turns.take(PATIENCE_S)
        order.append(n)
        turns.give()

    threads = []
    for n in range(5):
        threads.append(threading.Thread(target=wait, args=(n,)))
        threads[-1].start()
        while len(turns._waiting) <= n:
            pass
    turns.give()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert order == [0, 1, 2, 3, 4]
    assert turns.take(0)


def test_transaction_that_does_not_end_is_reported(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.database.base.PATIENCE_S", 0.01)

    def begin() -> None:
        try:
            with transaction.atomic():
                pass
        finally:
            connections.close_all()

    refused = pytest.raises(OperationalError, match="database is locked")
    with ThreadPoolExecutor(1) as pool, transaction.atomic(), refused:
        pool.submit(begin).result(PATIENCE_S)

"""What a ZooKeeper store does, the same for the one in memory and the one on a real server."""

import pytest

from broker_core.zk.store import (
    OUTSIDE_SESSION,
    BadVersion,
    Check,
    Create,
    DataTooLarge,
    Delete,
    InvalidPath,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionExpired,
    SetData,
    WatchedEvent,
    ZnodeStat,
)


@pytest.fixture
def session(store):
    return store.open_session("broker-1")


def kinds_and_paths(changes):
    return [(change.kind, change.path) for change in changes]


def test_create_get_set_delete(store, session) -> None:
    assert store.create(session, "/a", b"one") == "/a"
    data, stat = store.get(session, "/a")
    assert (data, stat.version, stat.cversion, stat.ephemeral_owner, stat.num_children) == (b"one", 0, 0, 0, 0)
    assert store.set(session, "/a", b"two").version == 1
    assert store.get(session, "/a")[0] == b"two"
    store.delete(session, "/a")
    assert store.exists(session, "/a") is None


def test_missing_and_existing_nodes(store, session) -> None:
    store.create(session, "/a")
    for refused, error in (
        (lambda: store.create(session, "/a"), NodeExists),
        (lambda: store.create(session, "/b/c"), NoNode),
        (lambda: store.get(session, "/b"), NoNode),
        (lambda: store.set(session, "/b", b""), NoNode),
        (lambda: store.delete(session, "/b"), NoNode),
        (lambda: store.children(session, "/b"), NoNode),
    ):
        with pytest.raises(error):
            refused()
    assert [path for path, _, _ in store.tree()] == ["/a"]


def test_versions_guard_set_and_delete(store, session) -> None:
    store.create(session, "/a")
    store.set(session, "/a", b"1", 0)
    with pytest.raises(BadVersion):
        store.set(session, "/a", b"2", 0)
    with pytest.raises(BadVersion):
        store.delete(session, "/a", 0)
    assert store.get(session, "/a")[0] == b"1"
    store.delete(session, "/a", 1)
    store.create(session, "/a")
    assert store.get(session, "/a")[1].version == 0


def test_node_with_children_is_not_deleted(store, session) -> None:
    store.create(session, "/a/b", makepath=True)
    with pytest.raises(NotEmpty):
        store.delete(session, "/a")
    store.delete(session, "/a/b")
    store.delete(session, "/a")


def test_children_are_sorted_and_counted(store, session) -> None:
    store.create(session, "/a")
    for name in ("c", "a", "b"):
        store.create(session, f"/a/{name}")
    store.delete(session, "/a/b")
    assert store.children(session, "/a") == ["a", "c"]
    stat = store.exists(session, "/a")
    assert (stat.num_children, stat.cversion, stat.version) == (2, 4, 0)


def test_makepath_creates_the_parents_with_a_zxid_each(store, session) -> None:
    store.create(session, "/a/b/c", b"x", makepath=True)
    czxids = [stat.czxid for _, _, stat in store.tree()]
    assert czxids == [czxids[0], czxids[0] + 1, czxids[0] + 2]
    assert store.get(session, "/a/b")[0] == b""


def test_sequence_numbers_count_all_children_ever_created(store, session) -> None:
    store.create(session, "/s")
    assert store.create(session, "/s/n_", sequential=True) == "/s/n_0000000000"
    store.create(session, "/s/other")
    store.delete(session, "/s/n_0000000000")
    assert store.create(session, "/s/n_", sequential=True) == "/s/n_0000000002"
    assert store.create(session, "/s/", sequential=True) == "/s/0000000003"


def test_ephemerals_are_deleted_with_their_session_in_creation_order(store, session) -> None:
    other = store.open_session("broker-2")
    store.create(session, "/ids")
    store.create(session, "/ids/2", ephemeral=True)
    store.create(session, "/ids/1", ephemeral=True)
    store.create(other, "/ids/3", ephemeral=True)
    assert store.exists(other, "/ids/1").ephemeral_owner == session
    store.take_changes()
    store.close_session(session)
    assert kinds_and_paths(store.take_changes()) == [("deleted", "/ids/2"), ("deleted", "/ids/1")]
    assert store.children(other, "/ids") == ["3"]


def test_deleted_ephemeral_is_not_deleted_again(store, session) -> None:
    store.create(session, "/e", ephemeral=True)
    store.delete(OUTSIDE_SESSION, "/e")
    store.create(OUTSIDE_SESSION, "/e")
    store.close_session(session)
    assert store.exists(OUTSIDE_SESSION, "/e") is not None


def test_ephemerals_have_no_children(store, session) -> None:
    store.create(session, "/e", ephemeral=True)
    with pytest.raises(NoChildrenForEphemerals):
        store.create(session, "/e/child")


def test_outside_session_owns_no_ephemerals(store) -> None:
    store.create(OUTSIDE_SESSION, "/a")
    with pytest.raises(ValueError, match="open a session"):
        store.create(OUTSIDE_SESSION, "/e", ephemeral=True)


def test_operations_of_a_closed_session_fail(store, session) -> None:
    store.close_session(session)
    for refused in (
        lambda: store.create(session, "/a"),
        lambda: store.get(session, "/"),
        lambda: store.multi(session, [Create("/a")]),
        lambda: store.close_session(session),
    ):
        with pytest.raises(SessionExpired):
            refused()


@pytest.mark.parametrize("path", ["", "a", "/a/", "//", "/a//b", "/a/./b", "/a/../b", "/a\0b", "/\ud800"])
def test_invalid_paths_are_refused(store, session, path) -> None:
    with pytest.raises(InvalidPath):
        store.create(session, path)
    with pytest.raises(InvalidPath):
        store.exists(session, path)


def test_root_cannot_be_deleted(store, session) -> None:
    with pytest.raises(InvalidPath):
        store.delete(session, "/")
    with pytest.raises(NodeExists):
        store.create(session, "/")


def test_data_over_the_server_limit_is_refused(store, session) -> None:
    with pytest.raises(DataTooLarge):
        store.create(session, "/a", bytes(1_000_001))
    store.create(session, "/a", bytes(1_000_000))


def test_multi_does_all(store, session) -> None:
    store.create(session, "/epoch", b"0")
    results = store.multi(
        session,
        [
            Check("/epoch", 0),
            Create("/controller", b"1", ephemeral=True),
            SetData("/epoch", b"1", 0),
            SetData("/epoch", b"2"),
            Create("/queue"),
            Create("/queue/n_", sequential=True),
            Create("/queue/n_", sequential=True),
            Delete("/queue/n_0000000000"),
        ],
    )
    assert results[:2] == [None, "/controller"]
    assert isinstance(results[3], ZnodeStat)
    assert results[3].version == 2
    assert results[4:] == ["/queue", "/queue/n_0000000000", "/queue/n_0000000001", None]
    assert store.get(session, "/controller")[1].ephemeral_owner == session
    assert store.children(session, "/queue") == ["n_0000000001"]
    assert len({change.zxid for change in store.take_changes()[1:]}) == 1


@pytest.mark.parametrize(
    ("failing", "error"),
    [
        (Create("/epoch"), NodeExists),
        (Create("/no/such"), NoNode),
        (SetData("/epoch", b"", 5), BadVersion),
        (Check("/epoch", 5), BadVersion),
        (Check("/nosuch", 0), NoNode),
        (Delete("/first", 1), BadVersion),
    ],
)
def test_multi_does_nothing_if_one_fails(store, session, failing, error) -> None:
    store.create(session, "/epoch", b"0")
    store.take_changes()
    with pytest.raises(error) as caught:
        store.multi(session, [Create("/first"), failing, Create("/last")])
    assert caught.value.index == 1
    assert caught.value.path == failing.path
    assert store.take_changes() == []
    assert [path for path, _, _ in store.tree()] == ["/epoch"]
    store.create(session, "/s_", sequential=True)
    assert store.exists(session, "/s_0000000001") is not None


def test_every_write_takes_the_next_zxid(store) -> None:
    first = store.open_session("a")
    store.create(first, "/a")
    with pytest.raises(NodeExists):
        store.create(first, "/a")
    store.multi(first, [Create("/b"), Create("/c")])
    store.set(first, "/a", b"")
    second = store.open_session("b")
    store.close_session(second)
    store.create(first, "/d")
    zxids = {path: (stat.czxid, stat.mzxid) for path, _, stat in store.tree()}
    assert zxids == {"/a": (2, 5), "/b": (4, 4), "/c": (4, 4), "/d": (8, 8)}
    assert (first, second) == (1, 2)


def test_data_watches_fire_once(store, session) -> None:
    other = store.open_session("other")
    store.create(session, "/a")
    store.get(session, "/a", watch=True)
    store.exists(other, "/a", watch=True)
    store.set(session, "/a", b"1")
    store.set(session, "/a", b"2")
    store.create(session, "/a/b")
    assert store.take_watches() == [WatchedEvent(session, "changed", "/a"), WatchedEvent(other, "changed", "/a")]
    assert store.take_watches() == []


def test_exists_watches_fire_on_creation(store, session) -> None:
    store.exists(session, "/controller", watch=True)
    store.create(session, "/controller")
    assert store.take_watches() == [WatchedEvent(session, "created", "/controller")]


def test_reads_that_find_nothing_leave_no_watch(store, session) -> None:
    with pytest.raises(NoNode):
        store.get(session, "/a", watch=True)
    with pytest.raises(NoNode):
        store.children(session, "/a", watch=True)
    store.create(session, "/a")
    store.create(session, "/a/b")
    assert store.take_watches() == []


def test_child_watches_fire_on_create_and_delete_but_not_on_data(store, session) -> None:
    store.create(session, "/a")
    store.children(session, "/a", watch=True)
    store.set(session, "/a", b"x")
    assert store.take_watches() == []
    store.create(session, "/a/b")
    store.create(session, "/a/c")
    assert store.take_watches() == [WatchedEvent(session, "children", "/a")]
    store.children(session, "/a", watch=True)
    store.set(session, "/a/b", b"x")
    assert store.take_watches() == []
    store.delete(session, "/a/b")
    assert store.take_watches() == [WatchedEvent(session, "children", "/a")]


def test_deletion_fires_both_kinds_and_the_parents(store, session) -> None:
    other = store.open_session("other")
    store.create(session, "/a/b", makepath=True)
    store.get(other, "/a/b", watch=True)
    store.children(other, "/a/b", watch=True)
    store.children(session, "/a/b", watch=True)
    store.children(session, "/a", watch=True)
    store.delete(session, "/a/b")
    assert store.take_watches() == [
        WatchedEvent(session, "deleted", "/a/b"),
        WatchedEvent(session, "children", "/a"),
        WatchedEvent(other, "deleted", "/a/b"),
    ]


def test_watches_come_in_the_order_of_operations_then_of_sessions(store) -> None:
    sessions = [store.open_session(f"broker-{number}") for number in (1, 2, 3)]
    store.create(sessions[0], "/b")
    store.create(sessions[0], "/a")
    for session in reversed(sessions):
        store.get(session, "/a", watch=True)
        store.get(session, "/b", watch=True)
    store.multi(sessions[2], [SetData("/b", b""), SetData("/a", b"")])
    fired = [(watch.path, watch.session) for watch in store.take_watches()]
    assert fired == [("/b", 1), ("/b", 2), ("/b", 3), ("/a", 1), ("/a", 2), ("/a", 3)]


def test_closing_session_gets_no_watch_events_and_others_do(store, session) -> None:
    other = store.open_session("other")
    store.create(session, "/controller", ephemeral=True)
    store.exists(session, "/controller", watch=True)
    store.exists(other, "/controller", watch=True)
    store.close_session(session)
    assert store.take_watches() == [WatchedEvent(other, "deleted", "/controller")]


def test_session_can_set_a_watch_repeatedly(store, session) -> None:
    store.create(session, "/a")
    for count in range(20):
        store.get(session, "/a", watch=True)
        store.set(session, "/a", str(count).encode())
        assert store.take_watches() == [WatchedEvent(session, "changed", "/a")]


def test_changes_are_returned_with_their_results(store, session) -> None:
    store.create(session, "/a", b"1", ephemeral=True)
    store.set(session, "/a", b"2")
    store.delete(session, "/a")
    created, changed, deleted = store.take_changes()
    assert (created.kind, created.data, created.version, created.ephemeral_owner) == ("created", b"1", 0, session)
    assert (changed.kind, changed.data, changed.version) == ("changed", b"2", 1)
    assert (deleted.kind, deleted.data, deleted.path) == ("deleted", None, "/a")
    assert [change.zxid for change in (created, changed, deleted)] == [2, 3, 4]
    assert store.take_changes() == []


def test_tree_is_sorted(store, session) -> None:
    for path in ("/b", "/a", "/b/x", "/a/z", "/a/y"):
        store.create(session, path, path.encode())
    assert [(path, data) for path, data, _ in store.tree()] == [
        (path, path.encode()) for path in ("/a", "/a/y", "/a/z", "/b", "/b/x")
    ]

"""ZooKeeper sessions outlive the processes that opened them, and belong to no other."""

from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore


def new_run(*brokers: int) -> Run:
    settings = {"zookeeper.session.timeout.ms": "6000"}
    config = RunConfig(name="sessions", seed=3, brokers=brokers or (1, 2, 3), broker_config=settings)
    run = Run(config, disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(1_000_000)
    return run


def do(run: Run, line: str, seconds: int = 1) -> None:
    run.submit(line, "test")
    run.advance(run.now_us + seconds * 1_000_000)


def test_restarted_broker_gets_no_watches_of_its_previous_session() -> None:
    run = new_run()
    do(run, "broker kill 2", 0)
    run._cluster.start_broker(2)
    do(run, "zk delete /controller", 10)
    assert run.view["controller"]["broker"] in (1, 3)
    assert run.view["nodes"]["b2"]["state"] == "up"


def test_restarted_broker_does_not_renew_its_previous_session() -> None:
    run = new_run()
    do(run, "broker kill 2", 0)
    run._cluster.start_broker(2)
    do(run, "link cut 2 zk")
    do(run, "link restore 2 zk", 10)
    assert run.view["nodes"]["b2"]["state"] == "up"
    assert run.view["nodes"]["b1"]["live_brokers"] == [1, 2, 3]


def test_responses_received_while_zookeeper_was_unreachable_are_counted() -> None:
    """Else the controller would take the answer to a later request for that of an earlier one, and wait for ever."""
    run = new_run(1, 2)
    run._cluster.freeze_broker(2)
    do(run, "kafka-topics.sh --create --topic orders --replica-assignment 2:1")
    do(run, "link cut 1 zk", 8)
    do(run, "broker kill 2", 1)
    do(run, "link restore 1 zk", 1)
    do(run, "broker start 2", 20)
    assert run.view["controller"] == {"broker": 1, "controller_epoch": 2}
    assert run.view["partitions"]["orders-0"]["isr"] == [1, 2]

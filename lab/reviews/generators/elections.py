"""Chapter 5, elect."""

from random import Random

from broker_core.events.client import RecordsConsumed
from broker_core.texts import Text, text
from lab.reviews.question import Choice, Question, around, drawn, fixed, value
from lab.reviews.registry import chapter
from lab.reviews.scenario import Scenario, laid

review = chapter(5)
_NOBODY = -1
_NO_REBALANCE = {"auto.leader.rebalance.enable": "false"}


@review("029-who-controls-the-controller")
def controller_epoch(rng: Random) -> Question:
    """The controller epoch after some happenings."""
    scenario = Scenario(rng, settings=_NO_REBALANCE)
    given = ["# broker 1 controls, controller epoch 1"]
    deaths = 0
    kinds = [rng.choice(("kill", "other", "session", "znode")) for _ in range(rng.randint(2, 4))]
    for kind in kinds:
        controller = scenario.run.view["controller"]["broker"]
        other = next(broker for broker in (3, 2, 1) if broker != controller)
        if kind == "znode":
            lines = ["zk delete /controller"]
        elif kind == "session":
            lines = [f"session expire {controller}"]
        else:
            broker = controller if kind == "kill" else other
            lines = [f"broker kill {broker}", "sleep 25s", f"broker start {broker}"]
            deaths += 1
        scenario.do(*lines, "sleep 10s")
        given += [line for line in lines if not line.startswith("sleep")]
        now = scenario.run.view["controller"]["broker"]
        if kind != "other":
            given.append(f"# broker {now} controls")
    epoch = scenario.run.view["controller"]["controller_epoch"]
    choices, right = drawn(
        rng,
        epoch,
        [(1 + deaths, "epoch-per-death"), (1, "controller-is-stable"), (1 + len(kinds), "epoch-per-death")],
        around(epoch, 1),
    )
    return Question(
        ask=text("review_elect.controller.ask"),
        given=tuple(given),
        choices=choices,
        right=right,
        reason=text("review_elect.controller.reason", epoch=epoch),
    )


def _brokers(rng: Random, right: int, tags: dict[int, str]) -> tuple[tuple[Choice, ...], str]:
    """Brokers 1 to 3 and no broker, as fixed choices."""
    rows: list[tuple[str, Text, str]] = [(str(broker), value(broker), tags.get(broker, "")) for broker in (1, 2, 3)]
    rows.append(("nobody", text("review_elect.nobody"), tags.get(_NOBODY, "")))
    return fixed("nobody" if right == _NOBODY else str(right), rows)


@review("007-who-may-lead")
def next_leader(rng: Random) -> Question:
    """Which broker leads after some crashes, by replica list, ISR and kind of election."""
    replicas = rng.sample((1, 2, 3), 3)
    unclean = rng.random() < 0.3
    out = rng.choice((0, 0, 1, 2))
    scenario = Scenario(rng, settings=_NO_REBALANCE)
    config = f"--config unclean.leader.election.enable={'true' if unclean else 'false'}"
    scenario.do(laid("votes", replicas, config=config), "producer open p1 --acks 1", "producer send p1 votes-0 a:1")
    if rng.random() < 0.5:
        # It leaves and comes back: the ISR names it last, the list does not.
        scenario.do(f"broker stop {replicas[1]}", f"broker start {replicas[1]}")
        scenario.until(lambda: len(scenario.partition("votes-0")["isr"]) == 3)
    if out:
        scenario.do(f"hold fetch {replicas[out]} {replicas[0]}", "sleep 1s", "producer send p1 votes-0 b:2")
        scenario.until(lambda: len(scenario.partition("votes-0")["isr"]) == 2)
    isr = list(scenario.partition("votes-0")["isr"])
    dead = [replicas[0], *([rng.choice(replicas[1:])] if rng.random() < 0.6 else [])]
    scenario.do(*(f"broker kill {broker}" for broker in dead))
    scenario.play(25_000)
    leader = scenario.partition("votes-0")["leader"]
    live = [broker for broker in replicas if broker not in dead]
    tags = dict.fromkeys(live, "alive-is-in-sync")
    tags |= {broker: "isr-order" for broker in isr if broker in live and broker == next(iter(isr[1:]), 0)}
    tags |= {replicas[0]: "preferred-is-owner", _NOBODY: "waits-for-owner"}
    choices, right = _brokers(rng, leader, tags)
    return Question(
        ask=text("review_elect.leader.ask"),
        given=(
            f"replicas {','.join(map(str, replicas))}",
            f"ISR {','.join(map(str, isr))}",
            f"unclean.leader.election.enable = {'true' if unclean else 'false'}",
            f"dead {','.join(map(str, dead))}",
        ),
        choices=choices,
        right=right,
        reason=text(
            "review_elect.leader.reason_nobody"
            if leader == _NOBODY
            else "review_elect.leader.reason_clean"
            if leader in isr
            else "review_elect.leader.reason_unclean",
            **({} if leader == _NOBODY else {"broker": leader}),
        ),
    )


@review("030-all-replicas-down")
def after_a_return(rng: Random) -> Question:
    """Which broker leads when some brokers are back, or how many records are lost, after all replicas were down."""
    unclean = rng.random() < 0.5
    deaths, returns = rng.sample((1, 2, 3), 3), rng.sample((1, 2, 3), 3)
    back = rng.randint(1, 2)
    scenario = Scenario(rng, settings=_NO_REBALANCE)
    config = f"--config unclean.leader.election.enable={'true' if unclean else 'false'}"
    scenario.do(laid("votes", [1, 2, 3], config=config), "producer open p1 --acks all")
    for broker in deaths:
        scenario.do(f"producer send p1 votes-0 r{broker}:v", "sleep 1s", f"broker kill {broker}")
        scenario.play(22_000)
    ends = {broker: scenario.replica("votes-0", broker)["log_end_offset"] for broker in (1, 2, 3)}
    for broker in returns[:back]:
        scenario.do(f"broker start {broker}")
        scenario.play(15_000)
    leader = scenario.partition("votes-0")["leader"]
    given = (
        f"unclean.leader.election.enable = {'true' if unclean else 'false'}",
        *(f"producer send p1 votes-0 r{broker}:v; broker kill {broker}" for broker in deaths),
        *(f"broker start {broker}" for broker in returns[:back]),
    )
    if leader == _NOBODY or rng.random() < 0.6:
        tags = {returns[0]: "first-alive", 1: "preferred-is-owner", _NOBODY: "never-unclean"}
        choices, right = _brokers(rng, leader, tags)
        return Question(
            ask=text("review_elect.down.ask_leader"),
            given=given,
            choices=choices,
            right=right,
            reason=text(
                "review_elect.down.reason_waits" if leader == _NOBODY else "review_elect.down.reason_leads",
                last=deaths[-1],
            ),
        )
    lost = max(ends.values()) - scenario.replica("votes-0", leader)["log_end_offset"]
    choices, right = drawn(rng, lost, [(0, "clean-loses-nothing"), (3, "starts-anew")], around(lost))
    return Question(
        ask=text("review_elect.down.ask_lost"),
        given=given,
        choices=choices,
        right=right,
        reason=text("review_elect.down.reason_lost", leader=leader, n=lost),
    )


@review("031-two-who-lead")
def records_that_survive(rng: Random) -> Question:
    """Which of two records survive when the leader was cut off, by acks and by when they were sent."""
    scenario = Scenario(rng)
    scenario.do(laid("orders", [1, 2, 3]), "producer open p1 --acks 1", "producer open pa --acks all --timeout 60000")
    scenario.do("producer send p1 orders-0 warm:1", "producer send pa orders-0 warm:2", "sleep 1s")
    plans = [(name, rng.random() < 0.7, rng.choice(("p1", "p1", "pa"))) for name in ("a", "b")]
    given = ["producer open p1 --acks 1", "producer open pa --acks all"]
    for is_during in (False, True):
        if is_during:
            cuts = ["link cut 1 zk", "link cut 1 2", "link cut 1 3"]
            scenario.do(*cuts)
            scenario.play(20_000)
            given += [*cuts, "# 20 s later broker 2 leads, too"]
        for name, during, producer in plans:
            if during == is_during:
                given.append(f"producer send {producer} orders-0 {name}:1")
                scenario.begin(given[-1], 1000)
    scenario.play(25_000)
    restores = ["link restore 1 zk", "link restore 1 2", "link restore 1 3"]
    scenario.do(*restores)
    scenario.play(20_000)
    scenario.do("consumer follow c1 orders-0 --from earliest", "sleep 2s")
    read = {row[2] for _, event in scenario.events(RecordsConsumed) for row in event.records}
    survives = "".join(name for name in ("a", "b") if name in read) or "none"
    choices, right = fixed(
        survives,
        [
            ("ab", text("review_elect.two.both"), "acked-is-safe"),
            ("a", value("a"), "one-leader-at-a-time"),
            ("b", value("b"), "one-leader-at-a-time"),
            ("none", text("review_elect.two.none"), "isr-shrinks-alone"),
        ],
    )
    return Question(
        ask=text("review_elect.two.ask"),
        given=(*given, *restores),
        choices=choices,
        right=right,
        reason=text("review_elect.two.reason"),
    )

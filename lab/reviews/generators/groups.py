"""Chapter 6, consume together: groups and assignors."""

from random import Random

from broker_core.events.client import RecordsConsumed
from broker_core.texts import text
from lab.reviews.question import Question, around, drawn
from lab.reviews.registry import chapter
from lab.reviews.scenario import SINGLE, Scenario, laid

review = chapter(6)
_ASSIGNORS = ("range", "roundrobin", "cooperative-sticky")


def _grouped(rng: Random, partitions: dict[str, int]) -> Scenario:
    """A cluster of one broker with these topics."""
    scenario = Scenario(rng, brokers=1, settings=SINGLE)
    scenario.do(*(laid(topic, *[[1]] * count) for topic, count in partitions.items()))
    return scenario


def _start(scenario: Scenario, group: str, members: list[str], options: str) -> None:
    """Starts the members of a group, and waits until they have their partitions."""
    scenario.do(*(f"consumer start {member} --group {group} {options}" for member in members))
    scenario.play(12_000)


@review("032-queue-or-topic")
def reads_and_idle(rng: Random) -> Question:
    """How many reads some records take in all, or how many members have nothing to read."""
    partitions, records = rng.randint(2, 4), rng.randint(4, 8)
    sizes = {"mail": rng.randint(2, 5), "stats": rng.randint(1, 3)}
    if rng.random() < 0.4:
        del sizes["stats"]
    scenario = _grouped(rng, {"clicks": partitions})
    for group, count in sizes.items():
        _start(scenario, group, [f"{group}{number}" for number in range(1, count + 1)], "--topic clicks")
    sent = " ".join(f"null:{number}" for number in range(records))
    scenario.do("producer open p1 --partitioner round-robin", f"producer send p1 clicks {sent}", "sleep 3s")
    reads = sum(len(event.records) for _, event in scenario.events(RecordsConsumed))
    idle = sum(not owned for owned in scenario.owned("mail").values())
    given = tuple(f"group {group}: {count} members" for group, count in sizes.items())
    members = sum(sizes.values())
    if rng.random() < 0.5:
        choices, right = drawn(
            rng,
            reads,
            [(records, "groups-share"), (records * members, "more-consumers-faster")],
            [records * partitions, *around(reads)],
        )
        return Question(
            ask=text("review_consume.queue.ask_reads", partitions=partitions, n=records),
            given=given,
            choices=choices,
            right=right,
            reason=text("review_consume.queue.reason_reads", n=records, groups=len(sizes), reads=reads),
        )
    choices, right = drawn(
        rng, idle, [(0, "more-consumers-faster"), (sizes["mail"] - 1, "first-takes-all")], around(idle)
    )
    return Question(
        ask=text("review_consume.queue.ask_idle", partitions=partitions),
        given=given,
        choices=choices,
        right=right,
        reason=text("review_consume.queue.reason_idle", partitions=partitions, members=sizes["mail"], idle=idle),
    )


@review("033-one-partition-no-group")
def deliveries(rng: Random) -> Question:
    """How often one record is delivered, to consumers without a group and to groups."""
    followers = rng.randint(1, 4)
    sizes = {name: rng.randint(1, 3) for name in ("desk", "audit")[: rng.randint(1, 2)]}
    scenario = _grouped(rng, {"clicks": 2})
    for group, count in sizes.items():
        _start(scenario, group, [f"{group}{number}" for number in range(1, count + 1)], "--topic clicks")
    scenario.do(*(f"consumer follow f{number} clicks-0 --from earliest" for number in range(1, followers + 1)))
    scenario.do("producer open p1", "producer send p1 clicks-0 a:1", "sleep 2s")
    reads = sum(len(event.records) for _, event in scenario.events(RecordsConsumed))
    members = sum(sizes.values())
    choices, right = drawn(
        rng,
        reads,
        [(followers, "assign-takes"), (followers + members, "groups-share"), (len(sizes), "assign-rebalances")],
        around(reads, 1),
    )
    return Question(
        ask=text("review_consume.assign.ask", followers=followers),
        given=tuple(f"group {group}: {count} members" for group, count in sizes.items()),
        choices=choices,
        right=right,
        reason=text("review_consume.assign.reason", followers=followers, groups=len(sizes), n=reads),
    )


@review("004-three-members-ten-partitions")
def owner_of_a_partition(rng: Random) -> Question:
    """Which member owns a partition under the range assignor."""
    members = [f"c{number}" for number in range(1, rng.randint(2, 4) + 1)]
    partitions = rng.randint(len(members) + 2, 12)
    scenario = _grouped(rng, {"counters": partitions})
    _start(scenario, "g", members, "--topic counters --assignor range")
    owned = scenario.owned("g")
    asked = rng.randrange(partitions)
    owner = next(member for member, held in owned.items() if f"counters-{asked}" in held)
    share = partitions // len(members)
    choices, right = drawn(
        rng,
        owner,
        [
            (members[min(asked // share, len(members) - 1)], "last-gets-rest"),
            (members[asked % len(members)], "even-split"),
            (members[0], "owner-keeps"),
        ],
        members,
    )
    counts = ", ".join(f"{member} {len(owned[member])}" for member in members)
    return Question(
        ask=text("review_consume.range.ask", members=len(members), partitions=partitions, partition=asked),
        choices=choices,
        right=right,
        reason=text("review_consume.range.reason", counts=counts, partition=asked, owner=owner),
    )


@review("034-ranges-flaw-stickys-cure")
def counts_and_moves(rng: Random) -> Question:
    """How many partitions the first member has, or how many move between those that stay, by assignor."""
    assignor = rng.choice(_ASSIGNORS)
    counts = {"T1": rng.randint(4, 8), "T2": rng.randint(4, 8)}
    members = ["c1", "c2", "c3"]
    scenario = _grouped(rng, counts)
    _start(scenario, "g", members, f"--topic T1,T2 --assignor {assignor}")
    before = scenario.owned("g")
    total = sum(counts.values())
    given = (*(f"{topic}: {count}" for topic, count in counts.items()), f"{', '.join(members)}: --assignor {assignor}")
    if rng.random() < 0.5:
        answer = len(before["c1"])
        choices, right = drawn(
            rng,
            answer,
            [
                (-(-total // 3), "range-balances"),
                (total // 3, "last-gets-rest"),
            ],
            [sum(count // 3 for count in counts.values()), *around(answer)],
        )
        reason = (
            "review_consume.assignors.reason_range" if assignor == "range" else "review_consume.assignors.reason_all"
        )
        return Question(
            ask=text("review_consume.assignors.ask_count"),
            given=given,
            choices=choices,
            right=right,
            reason=text(reason, n=answer),
        )
    leaver = rng.choice(members)
    scenario.do(f"consumer stop {leaver}")
    scenario.play(12_000)
    after = scenario.owned("g")
    stays = [member for member in members if member != leaver]
    moved = sum(len(set(before[member]) - set(after[member])) for member in stays)
    choices, right = drawn(
        rng, moved, [(0, "others-keep"), (len(before[leaver]), "only-the-freed"), (total, "even-split")], around(moved)
    )
    is_sticky = assignor == "cooperative-sticky"
    return Question(
        ask=text("review_consume.assignors.ask_moved", member=leaver),
        given=given,
        choices=choices,
        right=right,
        reason=text(
            "review_consume.assignors.reason_sticky" if is_sticky else "review_consume.assignors.reason_anew",
            assignor=assignor,
            n=moved,
        ),
    )


@review("035-an-assignor-of-your-own")
def nobodys_partitions(rng: Random) -> Question:
    """The number of partitions without an owner under a plan of rules."""
    partitions = rng.randint(4, 7)
    first, second = rng.randint(0, 1), rng.randint(0, 2)
    rules = [f"give T1-0..{first} to c1", f"give T1-{first + 1}..{first + 1 + second} to c2"]
    if rng.random() < 0.35:
        rules.append("deal one by one")
    plan = "; ".join(rules)
    scenario = _grouped(rng, {"T1": partitions})
    scenario.do(f"assignor define mine '{plan}'")
    _start(scenario, "g", ["c1", "c2"], "--topic T1 --assignor mine")
    owned = scenario.owned("g")
    unowned = partitions - sum(map(len, owned.values()))
    choices, right = drawn(rng, unowned, [(0, "assigned-is-checked"), (partitions, "plan-refused")], around(unowned))
    return Question(
        ask=text("review_consume.rules.ask", partitions=partitions),
        given=(f"assignor define mine '{plan}'",),
        choices=choices,
        right=right,
        reason=text("review_consume.rules.reason", n=unowned),
    )

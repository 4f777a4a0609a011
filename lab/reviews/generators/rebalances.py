"""Chapter 6, consume together: rebalances, commits, positions."""

from random import Random

from broker_core.events.client import ConsumerPositionReset, RecordsConsumed
from broker_core.events.group import GroupMemberRemoved
from broker_core.partitions import TopicPartition, broker_id_of
from broker_core.texts import text
from lab.reviews.question import Question, around, drawn, fixed, value
from lab.reviews.registry import chapter
from lab.reviews.scenario import SINGLE, Scenario, laid, numbered_records

review = chapter(6)
_PAIR = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
    "zookeeper.session.timeout.ms": "6000",
}


@review("036-five-ways-to-set-off-a-rebalance")
def generation_at_the_end(rng: Random) -> Question:
    """The generation of a group after some happenings."""
    scenario = Scenario(rng, brokers=2, settings=_PAIR)
    scenario.do("kafka-topics.sh --create --topic clicks --partitions 2 --replication-factor 2")
    scenario.do("consumer start c1 --group g --topic clicks --heartbeat-interval-ms 2000", "sleep 8s")
    given = ["# group g is stable with c1, generation 1"]
    brokers = happenings = 0
    present = False
    for _ in range(2):
        kind = rng.choice(("broker", "broker", "stop", "kill", "static")) if present else rng.choice(("broker", "join"))
        if kind == "broker":
            broker = rng.randint(1, 2)
            lines = [f"broker kill {broker}", "sleep 8s", f"broker start {broker}"]
            brokers += 1
        elif kind == "join":
            options = "--instance i2 --session-timeout-ms 10000"
            lines = [f"consumer start c2 --group g --topic clicks {options}"]
            present = True
        elif kind == "static":
            options = "--instance i2 --session-timeout-ms 10000"
            lines = ["consumer stop c2", "sleep 2s", f"consumer start c2 --group g --topic clicks {options}"]
        else:
            lines = [f"consumer {kind} c2"]
            present = False
        happenings += 1
        given += [line for line in lines if line != "sleep 8s"]
        scenario.do(*lines)
        scenario.play(13_000 if kind in ("kill", "stop") else 11_000)
    generation = scenario.group("g")["generation_id"]
    choices, right = drawn(
        rng,
        generation,
        [
            (generation + brokers, "brokers-rebalance"),
            (generation + 2 * brokers, "gone-and-back"),
            (1 + happenings, "static-rebalances"),
        ],
        around(generation, 1),
    )
    return Question(
        ask=text("review_consume.generation.ask"),
        given=tuple(given),
        choices=choices,
        right=right,
        reason=text("review_consume.generation.reason", n=generation),
    )


@review("037-join-sync-and-too-late")
def commit_of_a_frozen_member(rng: Random) -> Question:
    """What the coordinator answers to a commit."""
    case = rng.choice(("frozen", "frozen", "short", "delayed", "delayed"))
    frozen_s = rng.randint(8, 20) if case == "frozen" else rng.randint(1, 4)
    scenario = Scenario(rng, brokers=1, settings=SINGLE)
    scenario.do(laid("clicks", *[[1]] * 4), "producer open p1", "producer send p1 clicks-0 a:1")
    options = "--group g --topic clicks --auto-commit false"
    scenario.do(f"consumer start c1 {options}", f"consumer start c2 {options}", "sleep 12s")
    if case == "delayed":
        given = ["consumer commit c2", "message delay OffsetCommit 12s", f"consumer start c3 {options}"]
        commit = scenario.send(given[0], "OffsetCommit", "request")
        scenario.do(f"message delay {commit} 12s", given[2])
    else:
        given = ["consumer freeze c2", f"sleep {frozen_s}s", "consumer thaw c2", "consumer commit c2"]
        scenario.do(*given[:-1])
        scenario.begin(given[-1])
    scenario.play(20_000)
    answers = [sent for sent in scenario.messages("OffsetCommit", "response") if sent.destination == "c2"]
    label = answers[0].label
    outcome = "unknown" if "UNKNOWN_MEMBER_ID" in label else "old" if "ILLEGAL_GENERATION" in label else "taken"
    choices, right = fixed(
        outcome,
        [
            ("taken", text("review_consume.commit.taken"), "commit-is-a-put"),
            ("old", value("ILLEGAL_GENERATION"), "generation-only"),
            ("unknown", value("UNKNOWN_MEMBER_ID"), ""),
        ],
    )
    return Question(
        ask=text("review_consume.commit.ask"),
        given=("# group g is stable with c1 and c2, session.timeout.ms=6000", *given),
        choices=choices,
        right=right,
        reason=text(_COMMIT[outcome]),
    )


_COMMIT = {
    "taken": "review_consume.commit.reason_taken",
    "old": "review_consume.commit.reason_old",
    "unknown": "review_consume.commit.reason_unknown",
}


@review("005-committed-is-not-processed")
def twice_or_never(rng: Random) -> Question:
    """How many records two members in turn read twice, or not at all."""
    first, second, third = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 3)
    commits = rng.random() < 0.7
    start = rng.choice(("beginning", "beginning", "latest"))
    scenario = Scenario(rng, brokers=1, settings=SINGLE)
    scenario.do(laid("tickets", [1]), "producer open p1 --acks all")
    options = f"--group desk --topic tickets --auto-commit false --from {start}"
    given = [f"consumer start c1 {options}", f"producer send p1 tickets-0 {numbered_records(0, first)}"]
    if commits:
        given.append("consumer commit c1")
    given += [
        f"producer send p1 tickets-0 {numbered_records(first, second)}",
        "consumer kill c1",
        f"producer send p1 tickets-0 {numbered_records(first + second, third)}",
        f"consumer start c2 {options}",
    ]
    for line in given:
        scenario.do(line)
        scenario.play(12_000 if line.startswith(("consumer start", "consumer kill")) else 1_500)
    reads = [
        {row[0] for _, event in scenario.events(RecordsConsumed) if event.client == name for row in event.records}
        for name in ("c1", "c2")
    ]
    total = first + second + third
    asks_twice = rng.random() < 0.6
    answer = len(reads[0] & reads[1]) if asks_twice else total - len(reads[0] | reads[1])
    wrong = (
        [(0, "position-is-stored"), (first + second, "new-begins-at-end"), (second, "position-is-stored")]
        if asks_twice
        else [(third, "new-begins-at-end"), (0, "position-is-stored"), (second, "position-is-stored")]
    )
    choices, right = drawn(rng, answer, wrong, around(answer))
    return Question(
        ask=text("review_consume.crash.ask_twice" if asks_twice else "review_consume.crash.ask_never"),
        given=tuple(given),
        choices=choices,
        right=right,
        reason=text(
            "review_consume.crash.reason_committed" if commits else "review_consume.crash.reason_none",
            n=first if commits else 0,
            policy="earliest" if start == "beginning" else start,
        ),
    )


@review("038-nobody-committed")
def first_offset_read(rng: Random) -> Question:
    """Where a member begins, by log start, log end, committed offset and reset policy."""
    end = rng.randint(8, 20)
    start = rng.choice((0, rng.randint(2, end - 3)))
    committed = rng.choice((None, rng.randint(1, end - 1), rng.randint(1, end - 1)))
    policy = rng.choice(("earliest", "latest"))
    scenario = Scenario(rng, brokers=1, settings=SINGLE)
    scenario.do(laid("old", [1]), "producer open p1 --acks all", f"producer send p1 old-0 {numbered_records(0, end)}")
    if committed is not None:
        scenario.do(
            "consumer start c0 --group g --topic old --auto-commit false",
            "sleep 8s",
            f"consumer seek c0 old-0@{committed}",
            "consumer commit c0",
            "consumer stop c0",
        )
    if start:
        plan = f'{{"partitions":[{{"topic":"old","partition":0,"offset":{start}}}],"version":1}}'
        scenario.do(
            f"file cut <<< '{plan}'",
            "kafka-delete-records.sh --bootstrap-server localhost:9092 --offset-json-file cut",
        )
    scenario.do(f"consumer start c1 --group g --topic old --reset {policy} --auto-commit false", "sleep 10s")
    resets = [event.to_offset for _, event in scenario.events(ConsumerPositionReset) if event.client == "c1"]
    read = [row[0] for _, event in scenario.events(RecordsConsumed) if event.client == "c1" for row in event.records]
    answer = min(read) if read else resets[-1]
    choices, right = drawn(
        rng,
        answer,
        [
            (committed if committed is not None else end, "reset-only-new" if committed is not None else "nearest"),
            (start, "nearest"),
            (end, "latest-follows-others"),
            (0, "nothing-read-yet"),
        ],
        around(answer),
    )
    return Question(
        ask=text("review_consume.reset.ask", policy=policy),
        given=(
            f"log start offset {scenario.replica('old-0', 1)['log_start_offset']}",
            f"log end offset {end}",
            f"committed {'-' if committed is None else committed}",
        ),
        choices=choices,
        right=right,
        reason=text(
            "review_consume.reset.reason_committed" if answer == committed else "review_consume.reset.reason_reset",
            policy=policy,
            offset=answer,
        ),
    )


@review("039-kafkaconsumerdemo-35")
def coordinator_of_a_group(rng: Random) -> Question:
    """The coordinator of a group, by the partition that stores it and the leaders."""
    name = f"{rng.choice(('payments', 'mail', 'KafkaConsumerDemo', 'audit', 'search'))}-{rng.randint(1, 99)}"
    count = 5
    settings = {"offsets.topic.num.partitions": str(count), "offsets.topic.replication.factor": "2"}
    scenario = Scenario(rng, settings=settings)
    scenario.do("kafka-topics.sh --create --topic clicks --partitions 1 --replication-factor 1")
    scenario.do("consumer start warm --group warm --topic clicks", "sleep 4s", "consumer stop warm")
    dead = 0
    if rng.random() < 0.4:
        dead = rng.randint(1, 3)
        scenario.do(f"broker kill {dead}")
        scenario.play(20_000)
    scenario.do(f"consumer start c1 --group {name} --topic clicks")
    scenario.until(lambda: any(one["group"] == name for one in scenario.run.view["groups"].values()))
    scenario.play(4_000)
    coordinator = broker_id_of(scenario.group(name)["coordinator"])
    home = scenario.group(name)["partition"]
    leaders = {number: scenario.partition(f"__consumer_offsets-{number}")["leader"] for number in range(count)}
    controller = scenario.run.view["controller"]["broker"]
    fewest = min(set(leaders.values()), key=lambda broker: (list(leaders.values()).count(broker), broker))
    tags = {
        controller: "controller-coordinates",
        fewest: "least-loaded-coordinator",
        1 + TopicPartition.parse(home).partition % 3: "name-hash-broker",
    }
    choices, right = fixed(str(coordinator), [(str(one), value(one), tags.get(one, "")) for one in (1, 2, 3)])
    return Question(
        ask=text("review_consume.home.ask", group=name, partition=home),
        given=(
            *(f"__consumer_offsets-{number} leader {leader}" for number, leader in leaders.items()),
            f"controller {controller}",
            *([f"dead {dead}"] if dead else []),
        ),
        choices=choices,
        right=right,
        reason=text("review_consume.home.reason", partition=home, broker=coordinator),
    )


@review("040-too-slow-to-be-a-member")
def stays_or_leaves(rng: Random) -> Question:
    """Whether a member stays in its group, leaves by itself or is removed."""
    interval_ms = rng.choice((8_000, 10_000, 12_000))
    process_ms = rng.choice((500, 1_000))
    per_poll = rng.choice((3, 5, 30, 40))
    is_frozen = rng.random() < 0.3
    options = f"--process-ms {process_ms} --max-poll-records {per_poll} --max-poll-interval-ms {interval_ms}"
    scenario = Scenario(rng, brokers=1, settings=SINGLE)
    scenario.do(laid("jobs", [1]), "producer open p1", f"producer send p1 jobs-0 {numbered_records(0, 40)}")
    scenario.do(f"consumer start c1 --group w --topic jobs {options}", "sleep 5s")
    given = [f"consumer start c1 --group w --topic jobs {options}"]
    if is_frozen:
        given.append("consumer freeze c1")
        scenario.do(given[-1])
    scenario.play(25_000)
    removals = [event for _, event in scenario.events(GroupMemberRemoved)]
    outcome = "stays" if not removals else "session" if is_frozen else "poll"
    if removals and is_frozen != ("session" in removals[0].why):
        outcome = "poll" if is_frozen else "session"
    choices, right = fixed(
        outcome,
        [
            ("stays", text("review_consume.slow.stays"), "heartbeat-is-enough"),
            ("session", text("review_consume.slow.session"), "session-times-out"),
            ("poll", text("review_consume.slow.poll", ms=interval_ms), ""),
        ],
    )
    return Question(
        ask=text("review_consume.slow.ask"),
        given=(*given, "# session.timeout.ms=6000, heartbeat.interval.ms=500, 40 records wait"),
        choices=choices,
        right=right,
        reason=text(_SLOW[outcome], busy=per_poll * process_ms, ms=interval_ms),
    )


_SLOW = {
    "stays": "review_consume.slow.reason_stays",
    "session": "review_consume.slow.reason_session",
    "poll": "review_consume.slow.reason_poll",
}

"""Topics, producing and consuming, by forms and by the console."""

import re

from devtools.tour.lab_page import LabPage
from devtools.tour.tour import Tour, until

TITLE = "records"
MANY = 100
SLOW = 0.0025


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: topics and records")

    with tour.stop("orders, 3 partitions on 3 brokers, by the form"):
        lab.with_orders()
        partitions = lab.shown.partitions
        leaders = {one.leader for one in partitions.values()}
        assert leaders == {"b1", "b2", "b3"}, f"The leaders are {sorted(leaders)}: one on each broker was expected."

    with tour.stop("payments, by a line of the console; a description of orders"):
        made = lab.command("kafka-topics.sh --create --topic payments --partitions 1 --replication-factor 2")
        assert made.output.strip() == "Created topic payments.", f"It printed {made.output!r}."
        said = lab.command("kafka-topics.sh --describe --topic orders").output
        assert "PartitionCount: 3" in said and "ReplicationFactor: 3" in said, f"It printed {said!r}."

    with tour.stop("an illegal name and too many replicas are refused with a message, and the run continues"):
        lab.close_console()
        lab.create_topic("no/such name", 1, 1)
        lab.refused(because="name")
        lab.create_topic("copies", 1, 4)
        said = lab.refused(because="Replication factor: 4")
        assert "available brokers: 3" in said, f"The message says: {said}"

    with tour.stop("a line that is none is refused with what was expected"):
        lab.send("producer fly p1")
        said = lab.refused(because="fly")
        assert len(said.splitlines()) >= 3, f"The message says only: {said}"
        field = lab.open_console()
        assert field.input_value() == "producer fly p1", "The line is gone, it cannot be corrected."

    with tour.stop("the console completes, remembers, and knows its commands"):
        field.fill("kafka-to")
        field.press("Tab")
        until(lab.page, lambda: field.input_value() == "kafka-topics.sh ", "the completed name of the tool")
        field.fill("")
        field.press("ArrowUp")
        until(lab.page, lambda: field.input_value() == "producer fly p1", "the line before")
        said = lab.command("help").output
        assert "kafka-topics.sh" in said and "kafka-console-consumer.sh" in said, f"help printed {said!r}."
        lab.close_console()

    with tour.stop("one record with key and value, acks=all: committed on all replicas"):
        lab.produce("orders-0", "42 apples", key="anna")
        _committed(lab, "orders-0", 1)
        until(lab.page, lambda: lab.client("p1")[1:4] == ["all", "1", "1"], "p1 with one record acknowledged")
    _many_records(tour, lab)


def _many_records(tour: Tour, lab: LabPage) -> None:
    with tour.stop("acks=0 and acks=1"):
        lab.produce("orders-0", "nobody answers", acks="0")
        _committed(lab, "orders-0", 2)
        lab.produce("orders-0", "the leader answers", acks="1")
        _committed(lab, "orders-0", 3)

    with tour.stop("a hundred"):
        lab.produce_to("orders-1").get_by_role("button", name="Produce 100").click()
        _committed(lab, "orders-1", MANY)

    with tour.stop("a steady stream, and its end"):
        form = lab.produce_to("orders-2")
        form.get_by_label("records/s").fill("50")
        form.get_by_role("button", name="Stream").click()
        lab.until(lambda seen: seen.partitions["orders-2"].lanes["b1"].hw >= 20, "20 records of the stream")
        form.get_by_role("button", name="Stop").click()
        lab.sees(form.get_by_role("button", name="Stream"), "a stream that has ended")

    with tour.stop("kafka-console-consumer.sh reads a partition"):
        line = "kafka-console-consumer.sh --topic orders --partition 0 --offset earliest --max-messages 3"
        read = lab.command(line).output.splitlines()
        assert read[:3] == ["42 apples", "nobody answers", "the leader answers"], f"It printed {read}."
        lab.close_console()

    with tour.stop("a consumer on the page follows a partition from an offset"):
        panel = lab.act_panel().locator("hw-consumer")
        panel.get_by_role("combobox").first.select_option("orders-0")
        panel.get_by_label("Start from").select_option("offset")
        panel.get_by_label("Offset").fill("1")
        panel.get_by_role("button", name="Follow").click()
        records = panel.locator(".records li")
        lab.sees(records.filter(has_text="the leader answers"), "the record at offset 2")
        assert not records.filter(has_text="42 apples").count(), "It shows offset 0, from before where it began."
        lab.produce("orders-0", "read at once")
        lab.sees(records.filter(has_text="read at once"), "the record that was just produced")

    with tour.stop("a fast stream in slow time: its messages in flight, one of them selected"):
        form = lab.produce_to("orders-1")
        form.get_by_label("records/s").fill("200")
        form.get_by_role("button", name="Stream").click()
        lab.until(lambda seen: seen.partitions["orders-1"].lanes["b1"].hw >= MANY + 20, "20 records of the stream")
        lab.speed(SLOW)
        event = lab.shown.event
        lab.until(lambda seen: seen.event > event + MANY, f"{MANY} events in slow time")
        lab.pause()
        lab.steps_until(lambda seen: seen.has_message("records") and len(seen.messages) > 1, "records on their way")
        lab.tab("RPCs").get_by_role("button", name=re.compile("records")).first.click()
        lab.sees(lab.tab("Inspect").get_by_text("Fetch response"), "the card of a message")
        tour.pictures("lab", lab.page)


def _committed(lab: LabPage, partition: str, offset: int) -> None:
    """Waits until all replicas have the records below an offset, and know that they are committed."""
    lab.until(
        lambda seen: all((lane.leo, lane.hw) == (offset, offset) for lane in seen.partitions[partition].lanes.values()),
        f"{partition} with log end offset and high watermark {offset} on all replicas",
    )

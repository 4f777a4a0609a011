"""A run of the lab has ports: clients connect, the page shows how, and the address is stable."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings
from kafka import KafkaConsumer, KafkaProducer

from tests.support.lab_server import LabServer, Visitor

PROGRAMS = sorted((Path(settings.BASE_DIR) / "static/lab/connect").glob("*.py"), key=lambda path: path.name)
FAST = 20.0
"""Simulated seconds a second: a group's first rebalance and the end of a session take as long as in Kafka."""
ORDERS = "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3"


def test_programs_that_the_page_offers_run(visitor: Visitor, tmp_path: Path) -> None:
    """On one cluster, each with a topic and a group of its own."""
    with visitor.socket(visitor.new_run()) as client:
        bootstrap = client.of_kind("welcome")["bootstrap"]
        assert len(bootstrap.split(",")) == 3
        for program in PROGRAMS:
            client.run(ORDERS.replace("orders", program.stem))
        client.ask({"k": "time", "op": "play", "value": FAST})
        running = {}
        for program in PROGRAMS:
            text = program.read_text()
            for given, own in (
                ("BOOTSTRAP", bootstrap),
                ('"orders"', f'"{program.stem}"'),
                ('"mine"', f'"{program.stem}"'),
            ):
                assert given in text, program.name
                text = text.replace(given, own)
            # a program called as its library would import itself
            script = tmp_path / f"my_{program.name}"
            script.write_text(text)
            running[program.stem] = subprocess.Popen(
                [sys.executable, str(script)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
            )  # fmt: skip
        try:
            for name, process in running.items():
                said, complained = process.communicate(timeout=120)
                assert process.returncode == 0, (name, complained)
                assert said == "0 0 hello\n", name
        finally:
            for process in running.values():
                process.kill()
                process.communicate()


def test_connected_clients_are_in_the_view_and_the_address_survives_a_restart(
    visitor: Visitor, lab_server: LabServer
) -> None:
    run = visitor.new_run()
    with visitor.socket(run) as client:
        bootstrap = client.of_kind("welcome")["bootstrap"]
        client.run(ORDERS)
        client.ask({"k": "time", "op": "play", "value": FAST})
        producer = KafkaProducer(bootstrap_servers=bootstrap, client_id="till")
        assert producer.send("orders", b"one").get(60).offset == 0
        with visitor.socket(run) as other:
            nodes = other.of_kind("snap")["state"]["nodes"].values()
        joined = [node["settings"] for node in nodes if node["kind"] == "client"]
        assert {settings["client.id"] for settings in joined} >= {"till"}
        assert all(settings["software"].startswith("kafka-python") for settings in joined if "software" in settings)
        producer.close()
    lab_server.forget_labs()
    with visitor.socket(run) as client:
        assert client.of_kind("welcome")["bootstrap"] == ""
        client.ask({"k": "time", "op": "play", "value": FAST})
        with visitor.socket(run) as other:
            assert other.of_kind("welcome")["bootstrap"] == bootstrap
        consumer = KafkaConsumer("orders", bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        assert next(consumer).value == b"one"
        consumer.close()

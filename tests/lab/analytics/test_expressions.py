"""How table functions are turned into Spark's expressions: few calls to the JVM, and texts of recordings as values."""

import json

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lab.analytics.build.events import HEAD, of_kind


def test_an_expression_is_one_call_once_its_function_is_known(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [F.col("a"), F.lit(1), F.length(F.col("a"))]
    client = session.sparkContext._jvm._gateway_client  # type: ignore[union-attr]
    sent: list[str] = []
    send = client.send_command

    def counted(command: str, *more: object, **options: object) -> object:
        if not command.startswith("m\n"):  # releases of objects that Python no longer holds
            sent.append(command)
        return send(command, *more, **options)

    monkeypatch.setattr(client, "send_command", counted)
    kept += [F.col("b"), F.lit(2)]
    assert len(sent) == 2


@pytest.mark.parametrize("hash", ["a1b2", "it's", "\\' or true --", "漢字", ""])
def test_a_field_is_where_the_vocabulary_of_the_row_says(session: SparkSession, hash: str) -> None:
    recorded = ["BrokerStopped", "b1", "kill"], ["BrokerStopped", "kill", "b1"]
    rows = [
        {"kind": "BrokerStopped", "payload": json.dumps(payload), "vocabulary": vocabulary}
        for payload, vocabulary in zip(recorded, ("present", hash), strict=True)
    ]
    head = (f"cast(null as {type}) as `{name}`" for name, type in HEAD.items())
    events = session.createDataFrame(pa.Table.from_pylist(rows)).selectExpr(
        "kind", "vocabulary", "parse_json(payload) as payload", *head
    )
    found = of_kind(events, "BrokerStopped", {hash: ("how", "broker")}, is_undescribed=False)
    assert [(row["broker"], row["how"]) for row in found.collect()] == [("b1", "kill"), ("b1", "kill")]

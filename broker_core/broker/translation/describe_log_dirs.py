"""DescribeLogDirs (API key 35)."""

from typing import Any

from broker_core.broker.translation.common import RequestContext, Translation, by_topic, partitions_of
from broker_core.wire.messages import DescribeLogDirsRequest, DescribeLogDirsResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[35].response


def _body(request: Any, context: RequestContext) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(None if request.topics is None else tuple(topic.topic for topic in request.topics))


def _answer(body: DescribeLogDirsResponse, request: Any, context: RequestContext) -> Any:
    wanted = None
    if request.topics is not None:
        wanted = {name for name, _ in partitions_of(request.topics, name="topic")}
    return _WIRE.type(
        results=[
            _WIRE.DescribeLogDirsResult(
                error_code=directory.error.code,
                log_dir=directory.log_dir,
                topics=[
                    _WIRE.DescribeLogDirsTopic(
                        name=topic,
                        partitions=[
                            _WIRE.DescribeLogDirsPartition(
                                partition_index=index,
                                partition_size=row.size,
                                offset_lag=row.offset_lag,
                                is_future_key=row.is_future,
                            )
                            for index, row in rows
                        ],
                    )
                    for topic, rows in by_topic(
                        (row.partition, row) for row in directory.replicas if wanted is None or row.partition in wanted
                    ).items()
                ],
                total_bytes=directory.total_bytes,
                usable_bytes=directory.usable_bytes,
            )
            for directory in body.log_dirs
        ]
    )


DESCRIBE_LOG_DIRS = Translation(_body, _answer)

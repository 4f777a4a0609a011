"""Every byte of every message is annotated."""

import random

from broker_core.wire.annotate import annotate_request, annotate_response
from broker_core.wire.framing import encode_request, encode_response
from broker_core.wire.schemas import BY_NAME
from tests.support.wire_messages import damage, kinds, random_message


def test_annotation_covers_every_byte_and_stops_at_corrupt_ones() -> None:
    rng = random.Random(3)
    for kind in kinds():
        message = random_message(rng, kind)
        if kind.is_request:
            frame = encode_request(kind.api, kind.version, message, correlation_id=7, client_id="test")
            annotate = annotate_request
        else:
            frame = encode_response(kind.api, kind.version, message, correlation_id=7)
            annotate = annotate_response
        whole = annotate(kind.api, kind.version, frame)
        assert whole[-1].type not in ("?", "not read"), kind
        for data, fields in (
            (frame, whole),
            (damaged := damage(rng, frame)[:-1], annotate(kind.api, kind.version, damaged)),
        ):
            at = 0
            for field in fields:
                assert field.position == at and field.length > 0, (kind, field)
                at += field.length
            assert at == len(data), kind


def test_fields_are_annotated_with_position_type_and_value() -> None:
    api = BY_NAME["FindCoordinator"]
    frame = encode_request(api, 4, api.request.type(key_type=1, coordinator_keys=["pay"]), client_id="me")
    annotated = {field.path: (field.type, field.value) for field in annotate_request(api, 4, frame)}
    assert annotated["request_api_key"] == ("int16", "10 FindCoordinator")
    assert annotated["client_id"] == ("string", "me")
    assert annotated["key_type"] == ("int8", "1")
    assert annotated["coordinator_keys"] == ("[string]", "1")
    assert annotated["coordinator_keys[0]"] == ("string", "pay")
    answer = api.response.type(coordinators=[api.response.Coordinator(key="pay", error_code=15)])
    annotated = {
        field.path: (field.type, field.value)
        for field in annotate_response(api, 4, encode_response(api, 4, answer, correlation_id=9))
    }
    assert annotated["correlation_id"] == ("int32", "9")
    assert annotated["coordinators[0].error_code"] == ("int16", "15 COORDINATOR_NOT_AVAILABLE")

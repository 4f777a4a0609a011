"""ApiVersions (API key 18): what a broker offers, and who asks (KIP-35, KIP-511)."""

import re
from typing import Any

from broker_core.broker.translation.common import Asked
from broker_core.errors import KafkaError
from broker_core.wire.schemas import SCHEMAS

_API = SCHEMAS[18]
_WIRE = _API.response
_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_NAMES_VERSION = 3


def body(request: Any, asked: Asked) -> Any:
    """The ranges of all APIs; an error alone for a client that names itself badly."""
    if not _API.offers(asked.version):
        return _WIRE.type(error_code=KafkaError.UNSUPPORTED_VERSION.code, api_keys=[_range(_API)])
    names = (request.client_software_name, request.client_software_version)
    if asked.version >= _NAMES_VERSION and not all(_NAME.fullmatch(name) for name in names):
        return _WIRE.type(error_code=KafkaError.INVALID_REQUEST.code)
    return _WIRE.type(
        api_keys=[_range(SCHEMAS[key]) for key in sorted(SCHEMAS)],
        finalized_features_epoch=0,
    )


def _range(api: Any) -> Any:
    return _WIRE.ApiVersion(api_key=api.key, min_version=api.least, max_version=api.greatest)

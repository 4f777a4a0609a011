"""ApiVersions (API key 18): the versions that a broker offers, and the client's name (KIP-35, KIP-511)."""

import re
from collections.abc import Iterable
from typing import Any

from broker_core.broker.translation.common import RequestContext
from broker_core.era_apis import Apis, is_offered
from broker_core.errors import Errors
from broker_core.wire.framing import API_VERSIONS
from broker_core.wire.schemas import SCHEMAS, offered

_WIRE = SCHEMAS[API_VERSIONS].response
_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_NAMES_VERSION = 3


def body(request: Any, context: RequestContext) -> Any:
    """The version ranges of all APIs; only an error for a client with an invalid name."""
    era = context.broker.era
    apis = offered(era)
    if not is_offered(apis, API_VERSIONS, context.version):
        known = [API_VERSIONS] if era.returns_known_versions else []
        return _WIRE.type(error_code=Errors.UNSUPPORTED_VERSION.code, api_keys=_ranges(apis, known))
    names = (request.client_software_name, request.client_software_version)
    if context.version >= _NAMES_VERSION and not all(_NAME.fullmatch(name) for name in names):
        return _WIRE.type(error_code=Errors.INVALID_REQUEST.code)
    return _WIRE.type(
        api_keys=_ranges(apis, sorted(apis)), finalized_features_epoch=0 if era.zookeeper.feature_znode else -1
    )


def _ranges(apis: Apis, keys: Iterable[int]) -> list[Any]:
    return [_WIRE.ApiVersion(key, *apis[key]) for key in keys]

"""UpdateFeatures (API key 57): in ZooKeeper mode no feature is supported and none finalized, so that each update is
refused (`kafka.controller.KafkaController#validateFeatureUpdate`).
"""

from typing import Any

from broker_core.broker.translation.common import Asked
from broker_core.errors import KafkaError
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[57].response
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3
_TYPES_VERSION = 1


def body(request: Any, asked: Asked) -> Any:
    """The answer; the znode /feature stays as it is."""
    if not asked.broker.controller.is_active:
        return _WIRE.type(
            error_code=KafkaError.NOT_CONTROLLER.code,
            error_message="This is not the correct controller for this cluster.",
        )
    return _WIRE.type(
        error_message=None,
        results=[
            _WIRE.UpdatableFeatureResult(
                feature=update.feature,
                error_code=KafkaError.INVALID_REQUEST.code,
                error_message=_refusal(update, asked.version),
            )
            for update in {update.feature: update for update in request.feature_updates}.values()
        ],
    )


def _refusal(update: Any, version: int) -> str:
    kind = update.upgrade_type
    if version < _TYPES_VERSION:
        kind = _SAFE_DOWNGRADE if update.allow_downgrade else _UPGRADE
    if not update.feature:
        return "Feature name can not be empty."
    if kind not in (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE):
        return "Received unknown upgrade type."
    level = update.max_version_level
    if level < 1 and kind != _UPGRADE:
        return "Can not delete non-existing finalized feature."
    if level < 1:
        return (
            f"Can not provide versionLevel: {level} less than 1 without setting the SAFE downgradeType in the request."
        )
    return "Could not apply finalized feature update because the provided feature is not supported."

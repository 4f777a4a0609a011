"""UpdateFeatures (API key 57): in ZooKeeper mode no feature is supported and none finalized, so each update is rejected
(`kafka.controller.KafkaController#validateFeatureUpdate`).
"""

from typing import Any

from broker_core.broker.translation.common import RequestContext
from broker_core.errors import Errors
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[57].response
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
_TYPES_VERSION = 1


def body(request: Any, context: RequestContext) -> Any:
    """The response; the znode /feature is not changed."""
    if not context.broker.controller.is_active:
        return _WIRE.type(
            error_code=Errors.NOT_CONTROLLER.code,
            error_message="This is not the correct controller for this cluster.",
        )
    return _WIRE.type(
        error_message=None,
        results=[
            _WIRE.UpdatableFeatureResult(
                feature=update.feature,
                error_code=Errors.INVALID_REQUEST.code,
                error_message=refusal(update.feature, _kind(update, context.version), update.max_version_level),
            )
            # The first of several duplicates counts.
            for update in {update.feature: update for update in reversed(request.feature_updates)}.values()
        ],
    )


def _kind(update: Any, version: int) -> int:
    if version < _TYPES_VERSION:
        return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    kind: int = update.upgrade_type
    return kind


def refusal(feature: str, kind: int, level: int) -> str:
    """Why a controller rejects an update: level 0 would delete the feature."""
    if not feature:
        return "Feature name can not be empty."
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return "Received unknown upgrade type."
    if level < 1 and kind != UPGRADE:
        return "Can not delete non-existing finalized feature."
    if level < 1:
        return (
            f"Can not provide versionLevel: {level} less than 1 without setting the SAFE downgradeType in the request."
        )
    return "Could not apply finalized feature update because the provided feature is not supported."

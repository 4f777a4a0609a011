"""What becomes of a request whose handler fails as nobody expected (`KafkaApis.handle`, `RequestHandlerHelper`).

Kafka logs it, answers UNKNOWN_SERVER_ERROR and goes on. So does a run whose owner lets it (`Kernel.survives`), with an
alarm instead of the log: the mistake is the lab's, and must not hide. Other runs end with the exception.
"""

import traceback
from pathlib import Path

from broker_core.events.world import InvariantViolated
from broker_core.sim.kernel import Kernel

RULE = "UNKNOWN_SERVER_ERROR"
"""Under which the alarm goes."""


def go_on_after(kernel: Kernel, failure: Exception, subject: str, api: str) -> None:
    """Raises the alarm that `subject` failed on a request; raises `failure` when the run is not to survive it."""
    if kernel.survives is None or not kernel.survives(failure):
        raise failure
    where = traceback.extract_tb(failure.__traceback__)[-1]
    # not the exception's text: it may hold what differs from process to process, such as an address
    what = f"{type(failure).__name__} in {Path(where.filename).name}, line {where.lineno}"
    kernel.emit(
        InvariantViolated(
            invariant=RULE,
            subject=subject,
            detail=f"the lab itself failed on a request {api}: {what}",
            detail_zh=f"处理 {api} 请求时实验室自身出错：{what}",
            explained_by="",
            cause=kernel.cause_seq,
        ),
        subject,
    )

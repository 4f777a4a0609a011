"""The compression ratios that a producer has observed, by topic (`CompressionRatioEstimator`)."""

from broker_core.records.compression import CompressionType

IMPROVING_STEP = 0.005
DETERIORATE_STEP = 0.05
#: A safety margin on the estimate (`COMPRESSION_RATE_ESTIMATION_FACTOR`).
ESTIMATION_FACTOR = 1.05


class CompressionRatios:
    """Compressed size over uncompressed size, by topic; 1.0 before the first batch. It grows at once and shrinks
    slowly, so that batches rarely become larger than they should.
    """

    def __init__(self, compression: CompressionType) -> None:
        self.compression = compression
        self._ratios: dict[str, float] = {}

    def factor(self, topic: str) -> float:
        """The estimated compressed size of a byte of a record."""
        if self.compression is CompressionType.NONE:
            return 1.0
        return self._ratios.get(topic, 1.0) * ESTIMATION_FACTOR

    def seen(self, topic: str, uncompressed: int, compressed: int) -> None:
        """Records the sizes of a compressed batch in bytes."""
        if self.compression is CompressionType.NONE or not uncompressed:
            return
        now, observed = self._ratios.get(topic, 1.0), compressed / uncompressed
        if observed > now:
            self._ratios[topic] = max(now + DETERIORATE_STEP, observed)
        elif observed < now:
            self._ratios[topic] = max(now - IMPROVING_STEP, observed)

    def was_too_large(self, topic: str, uncompressed: int, compressed: int) -> None:
        """A broker has rejected a batch of these sizes as too large: no compression is assumed from now on."""
        if self.compression is not CompressionType.NONE:
            self._ratios[topic] = max(1.0, compressed / uncompressed)

"""How well a topic's records compress, as its producer has seen so far (`CompressionRatioEstimator`)."""

from broker_core.records.compression import CompressionType

IMPROVING_STEP = 0.005
DETERIORATE_STEP = 0.05
#: an estimate is taken with a little less trust (`COMPRESSION_RATE_ESTIMATION_FACTOR`)
ESTIMATION_FACTOR = 1.05


class CompressionRatios:
    """Compressed size over uncompressed size, by topic; 1.0 before the first batch. It grows at once and shrinks
    slowly, so that batches rarely become larger than they should.
    """

    def __init__(self, compression: CompressionType) -> None:
        self.compression = compression
        self._ratios: dict[str, float] = {}

    def factor(self, topic: str) -> float:
        """What a byte of a record counts for in the estimated size of a batch."""
        if self.compression is CompressionType.NONE:
            return 1.0
        return self._ratios.get(topic, 1.0) * ESTIMATION_FACTOR

    def seen(self, topic: str, uncompressed: int, compressed: int) -> None:
        """A batch has been compressed: sizes of its records in bytes."""
        if self.compression is CompressionType.NONE or not uncompressed:
            return
        now, observed = self._ratios.get(topic, 1.0), compressed / uncompressed
        if observed > now:
            self._ratios[topic] = max(now + DETERIORATE_STEP, observed)
        elif observed < now:
            self._ratios[topic] = max(now - IMPROVING_STEP, observed)

    def was_too_large(self, topic: str, uncompressed: int, compressed: int) -> None:
        """A broker has refused a batch of these sizes: from now on nothing is hoped for."""
        if self.compression is not CompressionType.NONE:
            self._ratios[topic] = max(1.0, compressed / uncompressed)

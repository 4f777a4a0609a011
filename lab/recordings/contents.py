"""The contents of the logs at an instant, record by record, so that two branches or two eras can be compared.

Bytes would not do: eras differ in the format of their logs. A record is the same when its key and value are.
"""

from hashlib import blake2b

from broker_core.records.record import Record
from broker_core.records.record_batch import CorruptRecord, InvalidRecord, iterate_batches, iterate_records
from broker_core.view.tree import Replica
from lab.recordings.disk.past_files import PastFiles
from lab.recordings.recording import Recording

COMPARED_RECORDS = 256
"""Number of records at the end of each log."""
MAX_TEXT_LENGTH = 32
_DIGEST_BYTES = 6


def contents(recording: Recording, seq: int) -> dict[str, dict[str, str]]:
    """`{replica: {offset: record}}` after event `seq`, of the newest records of each log that can be read.

    A record is identified by its key and value, such as `k:v`; a long one by its beginning and a digest.
    """
    view = recording.view_at(seq)
    past = PastFiles(recording, seq)
    return {name: _of_replica(past, state) for name, state in view["replicas"].items()}


def _of_replica(past: PastFiles, state: Replica) -> dict[str, str]:
    folder = f"broker-{state['broker_id']}/{state['partition']}"
    least = max(state["log_start_offset"], state["log_end_offset"] - COMPARED_RECORDS)
    found: dict[str, str] = {}
    for last_offset, _, segment, position, size, *_ in state["tail"].values():
        if last_offset < least:
            continue
        try:
            data = past.read(f"{folder}/{segment:020d}.log", position, position + size)
            found |= _of_batch(data, least)
        except (FileNotFoundError, CorruptRecord, InvalidRecord):
            # what cannot be read is compared with nothing
            continue
    return found


def _of_batch(data: bytes, least: int) -> dict[str, str]:
    return {
        str(record.offset): _text(record)
        for at, header in iterate_batches(data)
        for record in iterate_records(data, header, at)
        if record.offset >= least
    }


def _text(record: Record) -> str:
    key, value = (
        "" if part is None else part.decode("utf-8", "backslashreplace") for part in (record.key, record.value)
    )
    text = value if record.key is None else f"{key}:{value}"
    if record.value is not None and len(text) <= MAX_TEXT_LENGTH:
        return text
    digest = blake2b(repr((record.key, record.value)).encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{text[:MAX_TEXT_LENGTH]}… {digest}"

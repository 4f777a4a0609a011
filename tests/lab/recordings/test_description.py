"""A recording contains its branch and the vocabulary of its events, without the database or the code."""

from pathlib import Path

import msgspec
import pytest

from broker_core.events import CORE
from lab.recordings import description
from lab.recordings.description import IDENTITY, VOCABULARY, identity_of, present_kinds, vocabularies_of
from lab.recordings.folder import branch_folder
from lab.recordings.fork import fork_recording
from lab.recordings.recording import Recording
from tests.support.recorded_runs import begin, busy_run, folder_of


def test_branch_states_its_identity_and_its_parent(tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path, 300)
    recording.flush()
    own = identity_of(recording.folder)
    assert (own.run, own.name, own.parent, own.parent_seq) == ("r1", "main", "", 0)
    assert len(own.branch) == 26
    forked = fork_recording(recording, 200, branch_folder("r1", "main-2", runs=tmp_path))
    child = identity_of(forked.folder)
    assert (child.name, child.parent, child.parent_seq) == ("main-2", own.branch, 200)
    assert child.branch > own.branch
    again = fork_recording(forked, 150, branch_folder("r2", "main", runs=tmp_path))
    assert (identity_of(again.folder).parent, identity_of(again.folder).parent_seq) == (child.branch, 150)
    live.abandon()
    for one in (recording, forked, again):
        one.close()
    assert identity_of(folder_of(tmp_path)) == own


def test_recording_without_an_identity_gets_one_that_stays(tmp_path: Path) -> None:
    recording, live = begin(tmp_path)
    recording.flush()
    (recording.folder.recording / IDENTITY).unlink()
    found = identity_of(recording.folder)
    live.abandon()
    recording.close()
    again = Recording(folder_of(tmp_path))
    assert identity_of(again.folder) == found
    again.close()
    assert len(found.branch) == 26 and found.branch.startswith("0")
    (folder_of(tmp_path).recording / IDENTITY).write_text("{torn")
    assert identity_of(folder_of(tmp_path)) == found


def test_vocabulary_is_recorded_once_and_again_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, live = busy_run(tmp_path, 100)
    recording.flush()
    live.abandon()
    recording.close()
    (line,) = vocabularies_of(recording.folder.recording)
    assert (line.first_seq, line.hash) == (1, CORE.hash)
    assert line.kinds["HighWatermarkAdvanced"] == [("replica", "str"), ("from_offset", "int"), ("to_offset", "int")]
    Recording(folder_of(tmp_path)).close()
    assert len(vocabularies_of(recording.folder.recording)) == 1

    older = {**present_kinds(), "HighWatermarkAdvanced": [("replica", "str"), ("to_offset", "int")]}
    path = recording.folder.recording / VOCABULARY
    path.write_bytes(msgspec.json.encode(description.RecordedVocabulary(1, "older", older)) + b'\n{"first_seq": 4')
    later = Recording(folder_of(tmp_path))
    assert [(one.first_seq, one.hash) for one in vocabularies_of(path.parent)] == [
        (1, "older"),
        (later.last_seq + 1, CORE.hash),
    ]
    forked = fork_recording(later, 50, branch_folder("r1", "main-2", runs=tmp_path))
    found = [(one.first_seq, one.hash) for one in vocabularies_of(forked.folder.recording)]
    assert found == [(1, "older"), (51, CORE.hash)]
    later.close()
    forked.close()

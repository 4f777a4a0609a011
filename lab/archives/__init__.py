"""Exported runs: a zip of the recordings of a run, which another lab imports.

    manifest.json                                    what is in it: `manifest.Manifest`
    branches/<branch>/events-0/<offset>.log          the recordings' two Kafka logs, read by `kafka-dump-log.sh`
    branches/<branch>/inputs-0/<offset>.log
    branches/<branch>/identity.json, vocabulary.jsonl, .../leader-epoch-checkpoint

Derived data is not in it: views, time lines and disks are rebuilt from the logs, and no pickle is exported. `pack.py`
writes a file, `unpack.py` reads an untrusted one; `zips.py` has what zips of runs and of classes share. See
docs/RECORDINGS.md.
"""

"""Tables on disk: immutable Parquet files, and one small file for each build that lists those of all tables.

TABLES/
  silver.rpcs/b000042-<attempt>-0.parquet   never overwritten, never appended to; or a folder of parts that Spark wrote
  _builds/000000000042.json.zst             which chunks list the files of each table
  _chunks/<digest>.json.zst                 up to 1,000 files or branches of the ledger
  _pins/000000000042                        builds that vacuum keeps
  _attempts/<attempt>.json                  builds that are being made, so that what is left of a dead one is swept
  _quarantine/                              bytes that could not be read

Creating the build's file publishes the build, atomically and for all tables at once. A reader uses one build and never
sees part of another. No JVM is needed.
"""

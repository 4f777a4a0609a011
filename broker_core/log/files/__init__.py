"""The small files of a log and of its directory: checkpoints, `partition.metadata`, files to be deleted."""

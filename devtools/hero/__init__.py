"""The recording that the front page plays: the lost record, in a cluster of era 0.10."""

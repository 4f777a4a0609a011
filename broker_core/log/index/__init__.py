"""The index files of a segment: `.index`, `.timeindex` and `.txnindex`."""

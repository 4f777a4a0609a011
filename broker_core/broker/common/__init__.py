"""What several parts of a broker share: the metadata cache, texts of RPCs, handling of unexpected failures."""

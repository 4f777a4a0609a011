"""The log manager: log directories, retention, flushing and cleaning."""

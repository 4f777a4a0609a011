"""Django's backend for SQLite, with transactions of this process in the order in which they were asked for."""

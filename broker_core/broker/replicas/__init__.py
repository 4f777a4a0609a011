"""The replica manager: appends, fetches, offset lookups, delayed operations, ISR changes."""

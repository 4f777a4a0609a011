"""Runs scripts without a page and judges them by the fate of records, for random schedules and challenges."""

"""Runs of scripts without a page, judged by what became of the records: for random schedules and for challenges."""

"""Tools for developers: comparisons with real Kafkas, random schedules, the tour. Not part of the Django app."""

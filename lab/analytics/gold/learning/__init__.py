"""Learning: tables for learners, authors and the staff of a class."""

"""Loading a log (`LogLoader`) and recovering its segments after an unclean shutdown."""

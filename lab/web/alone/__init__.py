"""Pages that are one file: a recording, and the program that plays it, without a server or a network."""

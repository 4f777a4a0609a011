"""The stream of frames from a lab to each socket that watches it."""

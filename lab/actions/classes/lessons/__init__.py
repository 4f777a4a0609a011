"""The lessons that a class works on, one after the other."""

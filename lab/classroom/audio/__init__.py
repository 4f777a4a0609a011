"""The sound of a class: one-minute pieces that arrive in slices, are checked, made seekable, and cut where required."""

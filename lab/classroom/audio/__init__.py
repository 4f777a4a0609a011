"""The sound of a class: pieces of a minute that arrive in slices, checked, made seekable, and cut where it is due."""

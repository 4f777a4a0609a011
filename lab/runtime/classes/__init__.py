"""Labs of a class: states that are given to learners, copies of shown labs, and tiles of the board."""

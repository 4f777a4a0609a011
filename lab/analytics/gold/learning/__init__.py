"""Learning: what a learner, an author and the staff of a class ask of what was done."""

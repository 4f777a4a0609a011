"""Consumer groups: the coordinator of the classic protocol, and the assignors that a group's leader runs."""

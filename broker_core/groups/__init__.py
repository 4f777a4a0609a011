"""Consumer groups: the coordinator's side of the classic protocol, and the assignors that a group's leader runs."""

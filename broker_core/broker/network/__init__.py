"""The broker's side of TCP: connections, their frames, and what is encoded for them (`SocketServer`)."""

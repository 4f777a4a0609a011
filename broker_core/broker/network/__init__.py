"""The broker's side of TCP: connections, their frames, and the encoding of responses (`SocketServer`)."""

"""Files on the brokers' disks at any instant of a recording: their contents, names and bytes."""

"""The admin client and the requests, znodes and JSON files that several tools share."""

"""The grammar of the console: words, options, commands, and what a running command may wait for."""

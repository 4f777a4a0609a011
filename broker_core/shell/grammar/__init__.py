"""The grammar of the console: words, options, commands, and what a running command can wait for."""

"""The verbs of the command line, one per file: each defines `command`."""

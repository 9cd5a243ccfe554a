"""The command line `chetaev`: the verbs of the library on model files.

Nothing heavy is imported here: a verb imports what it needs when it runs, so that `chetaev --help` and completion are quick.
"""

from chetaev.cli.application import application, main

__all__ = ["application", "main"]

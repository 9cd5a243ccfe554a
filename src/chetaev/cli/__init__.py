"""The command line `chetaev`: the verbs of the library on model files.

A verb imports what it needs when it runs, so that `chetaev --help` and completion are fast.
"""

try:
    from chetaev.cli.application import application, main
except KeyboardInterrupt:  # Ctrl-C during the imports: the exit code that shells expect, and no traceback
    raise SystemExit(130) from None

__all__ = ["application", "main"]

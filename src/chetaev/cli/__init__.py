"""The command line `chetaev`: the verbs of the library on model files.

`application` is the command, with the exit code of every outcome; `verbs` has a file for each verb. `source` reads the argument MODEL,
`options` holds the options that several verbs share, `theorem_options` those that theorems declare, `session` the state of a run, `fixes`
prints suggested fixes as options, `output`
writes files, `printing` lays out texts for a terminal. A verb imports what it needs when it runs, so that `chetaev --help` and completion
are fast.
"""

try:
    from chetaev.cli.application import application, main
except KeyboardInterrupt:  # Ctrl-C during the imports: the exit code that shells expect, and no traceback
    raise SystemExit(130) from None

__all__ = ["application", "main"]

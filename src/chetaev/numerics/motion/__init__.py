"""A motion from its request to its certificate.

`simulate` is the verb, `run` goes from piece to piece, `transitions` begins the next piece after a switch, an impact, an event or a reset,
`watched_functions` lists the monitored functions, `record` joins the pieces, `reader` reads them, `trajectory` is the result.
`certification` checks the motion during the run, with comparisons inside steps (`step_evidence`), `verification` afterwards; `outcomes`
describes why a run ended; `progress` shows a bar, `display` a motion in notebooks; `run_settings`, `settings` and `storage` save it.
`one_piece`, `series_runs` and `direct_run` are short ways for motions in one piece, `quick` has their checks without Python.
"""

"""A motion from its request to its certificate.

`simulate` is the verb, `run` goes from piece to piece, `watching` lists the monitored functions, `record` joins the pieces, `reader` and
`values_at` read them, `trajectory` is the result. `net` checks the motion during the run, `verify` and `verify_corners` afterwards;
`outcomes` describes why a run ended; `progress` shows a bar; `run_settings`, `settings` and `storage` save it.
"""

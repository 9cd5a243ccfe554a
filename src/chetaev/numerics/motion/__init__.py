"""A motion from its request to its certificate.

`simulate` is the verb, `run` goes from piece to piece, `watching` says what is watched on the way, `record` joins the pieces, `reader` and
`values_at` read them, `trajectory` is the result. `net` collects evidence during the run, `verify` and `verify_corners` check it
afterwards; `outcomes` and `locus_words` say why a run ended; `progress` shows it; `run_settings`, `settings` and `storage` keep it.
"""

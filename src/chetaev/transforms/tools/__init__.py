"""Parts that several theorems use: morphisms and the motions they map, momenta, null spaces, pull-backs, frames, Noether's theorem."""

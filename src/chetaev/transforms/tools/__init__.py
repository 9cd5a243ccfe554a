"""What the theorems share: morphisms and what they carry, momenta, null spaces, pull-backs, frames, Noether's theorem."""

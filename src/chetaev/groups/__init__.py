"""Lie groups as coordinates: rotations and rigid motions without angles."""

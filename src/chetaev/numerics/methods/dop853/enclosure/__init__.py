"""Bounds over the tube of a step: `tube` computes them, `proof` decides what they prove about roots and determinants."""

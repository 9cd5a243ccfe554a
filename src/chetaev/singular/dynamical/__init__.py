"""Dynamical forms (ordinary differential equations of any order), their Lepage classes, and constraint structures on jets."""

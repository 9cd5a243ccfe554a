"""Model texts that tests of the studio share."""

CAWLEY = """name = "cawley"
lagrangian = "q1'*q3' + q2^2*q3/2"
[coordinates]
q1 = "line"
q2 = "line"
q3 = "line"
[principle]
name = "hamilton"
[initial]
fixed = ["q1 = 0.2", "q3 = 0", "q1' = 0.5", "q3' = 0"]
[simulate]
t = [0.0, 1.0]
"""
"""Its start lies where two branches cross: {q2 = 0}, and {q3 = 0} with q2 free."""

"""Systems of other programs.

`mechanics` reads the objects of `sympy.physics.mechanics` (its `System`, `LagrangesMethod`, `KanesMethod`, and what is built on them);
`kinematics` finds velocities of points and frames from where they are.
"""

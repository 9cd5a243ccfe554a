"""Parts that several theorems use.

| what | where |
|---|---|
| a theorem by name: its input, shared hypotheses; its options on the command line | `theorem`, `options` |
| its result: two sets of equations and maps between their motions | `morphism`, `carried_motions` |
| a system in other coordinates | `pullback` |
| quasi-velocities as a frame | `velocity_frame` |
| momenta of a Lagrangian; Noether's theorem; affine symmetries | `momenta`, `noether`, `affine_fields` |
| symmetries of group coordinates; translations from either side | `frame_fields`, `translations` |
| null spaces of matrices of expressions | `nullspace` |
"""

"""From equations to numbers, with CasADi graphs and machine code made by LLVM.

A room may import those that stand before it in `ROOMS` of `tests/architecture/test_layers.py`.

| room | comes in | goes out |
|---|---|---|
| `graphs` | expressions | CasADi graphs, their residues, errors and sizes; values bound to parameters |
| `machine` | graphs | programs, machine code, the compiled stepping loop on disk |
| `driving` | samples, functions, controllers | inputs as polynomials between breakpoints |
| `corners` | equations with sign, abs, min, max | smooth equations with modes |
| `flow` | equations | rows with their derivatives, solved: rates, projection, energy, all compiled |
| `enclosures` | the functions in the user's text | bounds over the tube of a step |
| `start` | given data | a consistent state, or what is missing |
| `verdict` | equations | what kind of system it is: branches, gauge, regular or not |
| `methods` | compiled kernels and a state | steps with dense output |
| `smooth_pieces` | a configuration of modes | one smooth piece of a motion, and what happens where two meet |
| `slopes` | names to differentiate by | the slopes of starts, machine code in which slopes run beside a state, their jumps |
| `evaluation` | a state | accelerations and multipliers there |
| `motion` | a request | a trajectory with its certificate, stored and verified |
| `prepared` | a model | calls for many starts, with everything else decided once |
| `attraction` | an equilibrium and a box | its basin, and regions that a Lyapunov function proves |
| `identification` | measured motions | unknown values, and the principle that fits |
| `ensemble`, `stability`, `comparison` | many starts; equilibria; several principles | ensembles, linearisations, comparisons |
"""

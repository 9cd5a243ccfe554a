"""Graphs as machine code, without a C compiler.

`tape` reads the instructions of a CasADi function, `instructions` writes them as LLVM's text (`sine` in line), `engine` compiles that text,
`interpreter` runs programs that are needed a few times only, `rounding_bounds` the same with bounds of their errors, `grouped` runs long
programs in loops; `kernels` chooses between these; `periodic` finds angles; `vectors` has code for several directions or states at once,
and `two_doubles` runs programs with twice as many digits. `native`, `lane_rows`, `compiling` and `precompiled` make the stepping loops from
numba's functions, when a wheel is built or once after a change, and load them from disk;
`packed` repeats calls of them; `processor` names the kinds of machine.
"""

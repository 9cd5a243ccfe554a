"""Graphs as machine code, without a C compiler.

`tape` reads the instructions of a CasADi function, `instructions` writes them as LLVM's text (`sine` in line), `engine` compiles that text,
`interpreter` runs programs that are needed a few times only, `kernels` chooses between the two. `native`, `compiling` and `precompiled`
make the stepping loop from numba's functions, when a wheel is built or once after a change, and load it from disk; `packed` repeats
calls of it; `processor` names the kinds of machine.
"""

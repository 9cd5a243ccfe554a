"""Graphs as machine code, without a C compiler.

`tape` reads the instructions of a CasADi function, `instructions` writes them as LLVM's text (`sine` in line), `engine` compiles that text,
`interpreter` runs programs that are called only a few times, `kernels` chooses between the two. `native`, `compiling` and `precompiled`
make the stepping loop from numba's functions once and load it from disk afterwards; `processor` names the processor.
"""

"""How to step: one compiled integrator per file, fed with addresses of machine code."""

"""A frame of directions carried along a motion by its linearised equations, and made orthonormal after every step, in compiled code.

`carrying` has the method of such a motion, `loop` its loop, `types` what goes into it, `loaded` loads the machine code.
"""

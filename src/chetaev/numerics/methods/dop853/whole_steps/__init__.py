"""Code made for one system: `step_code` makes one function of a whole trial step, and `look_code` what it finds out about the tube of the
step. The loop calls it by address, and makes the steps that take another course itself.
"""

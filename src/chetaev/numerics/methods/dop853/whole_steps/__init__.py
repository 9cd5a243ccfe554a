"""Code made for one system, where many steps are taken: `stage_code` makes one function of all stages, with the programs that `in_line`
puts there, `step_code` one of a whole trial step, with what `look_code` finds out about the tube of the step, and `doubting_code` bounds of
rounding errors. The loop calls it by address, and makes the steps that take another course itself.
"""

"""Initial data: read, completed from the constraints, judged, or refused with what is missing.

`initial` completes stage by stage with `newton` and `blocks`, `completed` judges the state found, `signs` finds the side of every switching
surface, `attitude` reads and shows elements of groups; `data_faults` and `state_faults` are the refusals.
"""

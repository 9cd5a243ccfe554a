"""Motions that are decided without Python: kernels and graphs compute all that is checked, in one row of memory.

`short_runs` runs short motions and accepts those without a doubt; `checks` are its checks, and those of prepared motions.
"""

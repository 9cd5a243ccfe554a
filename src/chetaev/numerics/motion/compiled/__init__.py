"""Motions that are decided by compiled code.

`short_runs` runs short motions and accepts those without a doubt; `compiled_checks` are its checks, and those of prepared motions.
"""

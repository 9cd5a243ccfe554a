"""Paths between two ends: inputs that steer a system at least cost.

`steering` has the verb `steer`; `optimal` the problem, its transcription and its checks.
"""

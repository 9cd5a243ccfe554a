"""The search for paths.

`seeds` proposes random starts, `transcription` rough curves of least action, `stationary` rough curves at saddle points; `multiple` solves
problems that are too unstable for a single start.
"""

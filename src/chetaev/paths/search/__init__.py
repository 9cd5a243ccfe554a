"""Where paths are sought.

`seeds` proposes random starts, `transcription` rough curves of least action and `stationary` those at saddle points, `multiple` follows
curves that are too unstable for one start.
"""

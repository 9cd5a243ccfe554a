"""Where a motion begins its next piece: after a switch or an impact (`switches`), after an event or a reset (`events`)."""

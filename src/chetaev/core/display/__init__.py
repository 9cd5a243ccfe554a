"""Displays in notebooks: HTML with labels beside formulas, in the order in which they were written. Every text is escaped.

`html` has numbers, formulas, rows, tables and the frame around them; `curve` draws a quantity over time as a small picture; `parts` shows a
system and a certificate. Values of other layers build their displays from these.
"""

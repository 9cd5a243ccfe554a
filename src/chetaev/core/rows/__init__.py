"""Rows of a system: `constraints` of motions and of variations, `unilateral` ones of contacts, `reading` makes them from texts."""

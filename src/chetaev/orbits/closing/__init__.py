"""Newton's iterations for orbits that close after a period.

`orbit_search` changes the whole start and keeps its integrals; `chosen_search` changes only the quantities that the user names, which
`unknowns` reads; `orbit` has the result.
"""

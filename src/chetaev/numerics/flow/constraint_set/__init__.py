"""The set of states on which the rows hold: `sampling` finds points near a given one, `component` the component of a state, `families` the
families of states on which motions live.
"""

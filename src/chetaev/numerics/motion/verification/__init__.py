"""Verification of a finished motion by the rows it was derived from.

`verify` is the verb, `curve` reads the motion as functions of time, `corners` checks bodies at rest and nested corner functions,
`labels` names what is checked.
"""

"""Expressions rewritten before they become graphs, where doubles would overflow, cancel or have no value.

`overflow` keeps quotients finite, `exponentials` products of exponentials, `dominant` products of factors that grow and fall,
`saturating_functions` functions with a finite limit; `removable` has series where a formula has no digits, `cancelling_sums` removes sums
that are identically zero.
"""

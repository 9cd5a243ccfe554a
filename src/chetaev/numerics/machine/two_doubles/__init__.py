"""Values of programs (`chetaev.core.exact.program`) in pairs of doubles, with bounds of their errors, in a hundredth of mpmath's time.

`codes` has the operations, `arithmetic` runs programs in compiled code, which `loaded` loads; `programs` writes them as its tables. The
package itself imports nothing, since the build of a wheel imports `loaded` without mpmath.
"""

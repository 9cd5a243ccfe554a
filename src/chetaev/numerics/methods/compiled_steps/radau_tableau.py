"""Coefficients of Radau IIA of order 5 in the basis in which its matrix is diagonal.

`C` are the stages, `E` the error estimate, `T` and its inverse `U` lead from that basis and into it (the last row of `T` is 1, 1, 0), `P`
to the polynomial of degree 3. Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.8.
"""

from math import sqrt

S = sqrt(6.0)
C1, C2 = (4 - S) / 10, (4 + S) / 10
E1, E2, E3 = (-13 - 7 * S) / 3, (-13 + 7 * S) / 3, -1 / 3
REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
COMPLEX_REAL, COMPLEX_IMAGINARY = 3 + 0.5 * (3 ** (1 / 3) - 3 ** (2 / 3)), -0.5 * (3 ** (5 / 6) + 3 ** (7 / 6))
T11, T12, T13 = 0.09443876248897524, -0.14125529502095421, 0.03002919410514742
T21, T22, T23 = 0.25021312296533332, 0.20412935229379994, -0.38294211275726192
U11, U12, U13 = 4.17871859155190428, 0.32768282076106237, 0.52337644549944951
U21, U22, U23 = -4.17871859155190428, -0.32768282076106237, 0.47662355450055044
U31, U32, U33 = 0.50287263494578682, -2.57192694985560522, 0.59603920482822492
P11, P12, P13 = 13 / 3 + 7 * S / 3, -23 / 3 - 22 * S / 3, 10 / 3 + 5 * S
P21, P22, P23 = 13 / 3 - 7 * S / 3, -23 / 3 + 22 * S / 3, 10 / 3 - 5 * S
P31, P32, P33 = 1 / 3, -8 / 3, 10 / 3

"""Andrews' squeezer mechanism, seven bodies with loops and speeds of thousands of radians a second, at the tolerance of its reference.

Test Set for IVP Solvers, release 2.4 (F. Mazzia, C. Magherini, 2008), problem "Andrews' squeezing mechanism": constants, consistent start
and the solution at t = 0.03, which was made with a tolerance of 1e-14.
"""

from __future__ import annotations

import pytest

import chetaev as ch

VALUES = {
    **dict(zip("m1 m2 m3 m4 m5 m6 m7".split(), (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498), strict=True)),
    **dict(zip("i1 i2 i3 i4 i5 i6 i7".split(), (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5), strict=True)),
    "xa": -0.06934,
    "ya": -0.00227,
    "xb": -0.03635,
    "yb": 0.03273,
    "xc": 0.014,
    "yc": 0.072,
    "c0": 4530,
    "l0": 0.07785,
    "mom": 0.033,
    "d": 0.028,
    "da": 0.0115,
    "e": 0.02,
    "ea": 0.01421,
    "zf": 0.02,
    "fa": 0.01421,
    "ra": 0.00092,
    "rr": 0.007,
    "ss": 0.035,
    "sa": 0.01874,
    "sb": 0.01043,
    "sc": 0.018,
    "sd": 0.02,
    "zt": 0.04,
    "ta": 0.02308,
    "tb": 0.00916,
    "u": 0.04,
    "ua": 0.01228,
    "ub": 0.00449,
}
CENTRES = {
    1: ("ra*cos(be)", "ra*sin(be)", "be'"),
    2: ("rr*cos(be) - da*cos(be + th)", "rr*sin(be) - da*sin(be + th)", "be' + th'"),
    3: ("xb + sa*sin(ga) + sb*cos(ga)", "yb - sa*cos(ga) + sb*sin(ga)", "ga'"),
    4: ("xa + zt*cos(de) + (e - ea)*sin(ph + de)", "ya + zt*sin(de) - (e - ea)*cos(ph + de)", "ph' + de'"),
    5: ("xa + ta*cos(de) - tb*sin(de)", "ya + ta*sin(de) + tb*cos(de)", "de'"),
    6: ("xa + u*sin(ep) + (zf - fa)*cos(om + ep)", "ya - u*cos(ep) + (zf - fa)*sin(om + ep)", "om' + ep'"),
    7: ("xa + ua*sin(ep) - ub*cos(ep)", "ya - ua*cos(ep) - ub*sin(ep)", "ep'"),
}
LOOPS = [
    "rr*cos(be) - d*cos(be + th) - ss*sin(ga) - xb = 0",
    "rr*sin(be) - d*sin(be + th) + ss*cos(ga) - yb = 0",
    "rr*cos(be) - d*cos(be + th) - e*sin(ph + de) - zt*cos(de) - xa = 0",
    "rr*sin(be) - d*sin(be + th) + e*cos(ph + de) - zt*sin(de) - ya = 0",
    "rr*cos(be) - d*cos(be + th) - zf*cos(om + ep) - u*sin(ep) - xa = 0",
    "rr*sin(be) - d*sin(be + th) - zf*sin(om + ep) + u*cos(ep) - ya = 0",
]
NAMES = "be th ga ph de om ep".split()
START = (-0.0617138900142764, 0.0, 0.455279819163070, 0.222668390165886, 0.487364979543843, -0.222668390165886, 1.23054744454982)
END = (
    15.81077119629904,
    -15.75637105984298,
    0.04082224013073101,
    -0.5347301163226948,
    0.5244099658805304,
    0.5347301163226948,
    1.048080741042263,
)


def test_the_published_solution_at_its_own_tolerance():
    where = {f"{axis}{k}": centre[i] for k, centre in CENTRES.items() for i, axis in enumerate("xy")}
    where |= {"xd": "sd*cos(ga) + sc*sin(ga) + xb", "yd": "sd*sin(ga) - sc*cos(ga) + yb"}
    kinetic = [f"m{k}/2*(x{k}'^2 + y{k}'^2) + i{k}/2*({turn})^2" for k, (_, _, turn) in CENTRES.items()]
    squeezer = ch.System(
        NAMES,
        list(VALUES),
        lagrangian=" + ".join(kinetic) + " - c0/2*(sqrt((xd - xc)^2 + (yd - yc)^2) - l0)^2",
        kinematic=LOOPS,
        forces={"be": "mom"},
        where=where,
    )
    start = ch.State({"be": START[0], "be'": 0}, guess=dict(zip(NAMES[1:], START[1:], strict=True)))
    motion = ch.simulate(ch.derive(squeezer, ch.DAlembert()), start, (0, 0.03), parameters=VALUES, tolerance=1e-14)
    assert motion.outcome == "finished"
    assert [motion.final[name] for name in NAMES] == pytest.approx(END, rel=1e-8)

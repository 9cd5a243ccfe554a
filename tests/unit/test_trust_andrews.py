"""Andrews' squeezing mechanism at the tolerance of its published reference: round-off is no drift.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section VII.7; data of the IVP test set.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

M = [0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498]
I = [2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5]
XA, YA, XB, YB, XC, YC = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
D, DA, E, EA, RR, RA, SS, SA, SB, SC, SD = 28e-3, 115e-4, 2e-2, 1421e-5, 7e-3, 92e-5, 35e-3, 1874e-5, 1043e-5, 18e-3, 2e-2
TA, TB, U, UA, UB, ZF, ZT, FA, MOM, C0, LO = 2308e-5, 916e-5, 4e-2, 1228e-5, 449e-5, 2e-2, 4e-2, 1421e-5, 0.033, 4530, 0.07785
START = [
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
]


def by_hand(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Accelerations and multipliers from mass matrix, forces and constraints as the test set prints them."""
    be, th, ga, ph, de, om, ep = q
    bep, thp, gap, php, dep, omp, epp = v
    s, c = math.sin, math.cos
    A = np.zeros((7, 7))
    A[0, 0] = M[0] * RA**2 + M[1] * (RR**2 - 2 * DA * RR * c(th) + DA**2) + I[0] + I[1]
    A[1, 0] = A[0, 1] = M[1] * (DA**2 - DA * RR * c(th)) + I[1]
    A[1, 1] = M[1] * DA**2 + I[1]
    A[2, 2] = M[2] * (SA**2 + SB**2) + I[2]
    A[3, 3] = M[3] * (E - EA) ** 2 + I[3]
    A[4, 3] = A[3, 4] = M[3] * ((E - EA) ** 2 + ZT * (E - EA) * s(ph)) + I[3]
    A[4, 4] = M[3] * (ZT**2 + 2 * ZT * (E - EA) * s(ph) + (E - EA) ** 2) + M[4] * (TA**2 + TB**2) + I[3] + I[4]
    A[5, 5] = M[5] * (ZF - FA) ** 2 + I[5]
    A[6, 5] = A[5, 6] = M[5] * ((ZF - FA) ** 2 - U * (ZF - FA) * s(om)) + I[5]
    A[6, 6] = M[5] * ((ZF - FA) ** 2 - 2 * U * (ZF - FA) * s(om) + U**2) + M[6] * (UA**2 + UB**2) + I[5] + I[6]
    xd, yd = SD * c(ga) + SC * s(ga) + XB, SD * s(ga) - SC * c(ga) + YB
    length = math.hypot(xd - XC, yd - YC)
    force = -C0 * (length - LO) / length
    fx, fy = force * (xd - XC), force * (yd - YC)
    F = np.array(
        [
            MOM - M[1] * DA * RR * thp * (thp + 2 * bep) * s(th),
            M[1] * DA * RR * bep**2 * s(th),
            fx * (SC * c(ga) - SD * s(ga)) + fy * (SD * c(ga) + SC * s(ga)),
            M[3] * ZT * (E - EA) * dep**2 * c(ph),
            -M[3] * ZT * (E - EA) * php * (php + 2 * dep) * c(ph),
            -M[5] * U * (ZF - FA) * epp**2 * c(om),
            M[5] * U * (ZF - FA) * omp * (omp + 2 * epp) * c(om),
        ]
    )
    G = np.zeros((6, 7))
    G[0, :3] = -RR * s(be) + D * s(be + th), D * s(be + th), -SS * c(ga)
    G[1, :3] = RR * c(be) - D * c(be + th), -D * c(be + th), -SS * s(ga)
    G[2, :5] = -RR * s(be) + D * s(be + th), D * s(be + th), 0, -E * c(ph + de), -E * c(ph + de) + ZT * s(de)
    G[3, :5] = RR * c(be) - D * c(be + th), -D * c(be + th), 0, -E * s(ph + de), -E * s(ph + de) - ZT * c(de)
    G[4, [0, 1, 5, 6]] = -RR * s(be) + D * s(be + th), D * s(be + th), ZF * s(om + ep), ZF * s(om + ep) - U * c(ep)
    G[5, [0, 1, 5, 6]] = RR * c(be) - D * c(be + th), -D * c(be + th), -ZF * c(om + ep), -ZF * c(om + ep) - U * s(ep)
    loop = np.array([-RR * c(be) * bep**2 + D * c(be + th) * (bep + thp) ** 2, -RR * s(be) * bep**2 + D * s(be + th) * (bep + thp) ** 2])
    g = np.array(
        [
            loop[0] + SS * s(ga) * gap**2,
            loop[1] - SS * c(ga) * gap**2,
            loop[0] + E * s(ph + de) * (php + dep) ** 2 + ZT * c(de) * dep**2,
            loop[1] - E * c(ph + de) * (php + dep) ** 2 + ZT * s(de) * dep**2,
            loop[0] + ZF * c(om + ep) * (omp + epp) ** 2 + U * s(ep) * epp**2,
            loop[1] + ZF * s(om + ep) * (omp + epp) ** 2 - U * c(ep) * epp**2,
        ]
    )
    K = np.block([[A, G.T], [G, np.zeros((6, 6))]])
    return np.linalg.solve(K, np.concatenate([F, -g]))


def system() -> ch.System:
    """The same mechanism as a Lagrangian: kinetic energy by the mass matrix, the spring, the drive as a force."""
    values = dict(
        zip(
            "XA YA XB YB XC YC D DA E EA RR RA SS SA SB SC SD TA TB U UA UB ZF ZT FA MOM C0 LO".split(),
            (XA, YA, XB, YB, XC, YC, D, DA, E, EA, RR, RA, SS, SA, SB, SC, SD, TA, TB, U, UA, UB, ZF, ZT, FA, MOM, C0, LO),
            strict=True,
        )
    )
    values |= {f"M{k}": m for k, m in enumerate(M)} | {f"I{k}": i for k, i in enumerate(I)}
    where = {name: repr(value) for name, value in values.items()}
    where["xd"] = "SD*cos(ga) + SC*sin(ga) + XB"
    where["yd"] = "SD*sin(ga) - SC*cos(ga) + YB"
    where["len"] = "sqrt((xd - XC)^2 + (yd - YC)^2)"
    kinetic = (
        "(M0*RA^2 + M1*(RR^2 - 2*DA*RR*cos(th) + DA^2) + I0 + I1)*be'^2/2 + (M1*(DA^2 - DA*RR*cos(th)) + I1)*be'*th'"
        " + (M1*DA^2 + I1)*th'^2/2"
        " + (M2*(SA^2 + SB^2) + I2)*ga'^2/2 + (M3*(E - EA)^2 + I3)*ph'^2/2 + (M3*((E - EA)^2 + ZT*(E - EA)*sin(ph)) + I3)*ph'*de'"
        " + (M3*(ZT^2 + 2*ZT*(E - EA)*sin(ph) + (E - EA)^2) + M4*(TA^2 + TB^2) + I3 + I4)*de'^2/2 + (M5*(ZF - FA)^2 + I5)*om'^2/2"
        " + (M5*((ZF - FA)^2 - U*(ZF - FA)*sin(om)) + I5)*om'*ep'"
        " + (M5*((ZF - FA)^2 - 2*U*(ZF - FA)*sin(om) + U^2) + M6*(UA^2 + UB^2) + I5 + I6)*ep'^2/2"
    )
    rows = [
        "RR*cos(be) - D*cos(be + th) - SS*sin(ga) - XB = 0",
        "RR*sin(be) - D*sin(be + th) + SS*cos(ga) - YB = 0",
        "RR*cos(be) - D*cos(be + th) - E*sin(ph + de) - ZT*cos(de) - XA = 0",
        "RR*sin(be) - D*sin(be + th) + E*cos(ph + de) - ZT*sin(de) - YA = 0",
        "RR*cos(be) - D*cos(be + th) - ZF*cos(om + ep) - U*sin(ep) - XA = 0",
        "RR*sin(be) - D*sin(be + th) - ZF*sin(om + ep) + U*cos(ep) - YA = 0",
    ]
    return ch.System("be th ga ph de om ep", lagrangian=f"{kinetic} - C0*(len - LO)^2/2", kinematic=rows, forces={"be": "MOM"}, where=where)


@pytest.mark.parametrize(("tolerance", "method"), [(1e-10, None), (1e-14, None), (1e-13, ch.Taylor())], ids=str)
def test_the_mechanism_at_the_tolerance_of_its_reference(tolerance, method):
    start = dict(zip("be th ga ph de om ep".split(), START, strict=True)) | {q + "'": 0.0 for q in "be th ga ph de om ep".split()}
    motion = ch.simulate(ch.derive(system(), ch.DAlembert()), start, (0, 0.03), tolerance=tolerance, method=method)
    assert motion.outcome == "finished", motion.message
    end = solve_ivp(
        lambda _, y: np.concatenate([y[7:], by_hand(y[:7], y[7:])[:7]]), (0, 0.03), [*START, *[0.0] * 7], "DOP853", rtol=1e-12, atol=1e-13
    )
    assert [motion.final[q] for q in "be th ga ph de om ep".split()] == pytest.approx(end.y[:7, -1], abs=2e-5)
    published = [
        0.1581077119629904e2,
        -0.1575637105984298e2,
        0.4082224013073101e-1,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        0.1048080741042263e1,
    ]
    assert [motion.final[q] for q in "be th ga ph de om ep".split()] == pytest.approx(published, abs=1e-5)

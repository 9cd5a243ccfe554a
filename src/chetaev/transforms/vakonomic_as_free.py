r"""Vakonomic motion as the free motion of an extended Lagrangian: $\mathbb{L} = L + \lambda_a R_K^a$ on the space of $(q, \lambda)$.

J. Cortes, M. de Leon, D. Martin de Diego, S. Martinez, SIAM J. Control Optim. 41 (2003) 1389-1412; 004 (3.3).
"""

from __future__ import annotations

from typing import Any

from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.system import fresh_coordinates
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.principles import Hamilton, Vakonomic
from chetaev.transforms.tools.morphism import Morphism, identity_on
from chetaev.transforms.tools.theorem import source_under, theorem


@public
@theorem()
def vakonomic_as_free(given: Any) -> Morphism:
    r"""Write vakonomic motion as that of the extended Lagrangian, whose coordinates are those of the system and its multipliers.

    Its Euler-Lagrange equations are the vakonomic equations; the multipliers keep their sign.

    Args:
        given: A system, or a model or equations under the vakonomic principle.

    Returns:
        The map between the motions.

    Raises:
        PrincipleError: If `given` is under another principle.

    >>> from chetaev import System
    >>> disk = System("x theta", lagrangian="x'^2/2 + theta'^2/2", kinematic=["x' = theta'"], name="disk")
    >>> print(vakonomic_as_free(disk).system.lagrangian)
    mu1*(-theta' + x') + theta'**2/2 + x'**2/2
    """
    source = source_under(given, Vakonomic(), "vakonomic_as_free", groups=True)
    system = source.system
    multipliers = source.multipliers
    added = fresh_coordinates(system, [f"mu{k + 1}" for k in range(len(multipliers))])
    renamed = dict(zip(multipliers, added, strict=True))
    free = system.replace(
        coordinates={**system.kinds, **{z.base: "line" for z in added}},
        lagrangian=source.lagrangian.xreplace(renamed),
        kinematic=(),
        name=f"{system.name}, extended".lstrip(", "),
    )
    target = derive(free, Hamilton())
    shared = identity_on(source, target)
    return Morphism(
        source,
        target,
        Frozen({**shared, **{z: m for m, z in renamed.items()}}),
        Frozen({**shared, **renamed}),
        "vakonomic motion is free motion of L + lambda_a R_K[a] (004, (3.3))",
    )

r"""Linearised motion on the constraint manifold: its matrix and eigenvalues, equilibria, and eigenvalues along a parameter.

The state $x$ moves by $x' = f(t, x)$ on the manifold $H(t, x) = 0$ of all constraints, hidden ones included. Independent jets $y$ of the
state are a chart, $x = x(y)$, in which the motion is $y' = g(y) = f_y(x(y))$, and

$$ \frac{\partial g}{\partial y} = A_y X, \qquad A = \frac{\partial f}{\partial x}, \qquad
   X = \frac{\partial x}{\partial y}, \quad H_x X = 0, \quad X_y = 1. $$

This holds at any state. Eigenvalues decide about stability where all quantities that influence the motion are at rest: at equilibria, and
at steady motions, where only cyclic quantities such as positions and headings change.

`linearization`, `equilibrium` and `sweep` have the verbs. `arguments` reads their arguments, `position` has the state as a vector,
`state_chart` rates, constraints and a chart at a state, `motion_near_state` the motion near it, `spectrum` the linear algebra; `search`
finds equilibria, `corners` refuses linearisations at corners. `inputs_and_outputs` has the matrices of inputs and outputs, `linear_control`
optimal feedback and estimation.
"""

from chetaev.numerics.stability.equilibrium import equilibria
from chetaev.numerics.stability.linearization import Linearization, linearize
from chetaev.numerics.stability.search import Equilibrium
from chetaev.numerics.stability.sweep import eigenvalue_sweep

__all__ = ["Equilibrium", "Linearization", "eigenvalue_sweep", "equilibria", "linearize"]

"""Friction from a variational principle: Herglotz, Rayleigh, and what is left of Noether's theorem.

What one learns: if the Lagrangian contains its own action s, with s' = L, then L = T - V - gamma*s describes linear friction. The motion is
the one that Rayleigh's function gives, but now there is an action principle behind it, and a symmetry still has a momentum: it is not
conserved but decays exactly as exp(-gamma*t), like the energy. The quotient of two such quantities is a constant of a dissipative motion.
"""

import sys
from pathlib import Path

import chetaev as ch

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

kinetic, potential = "(x'^2 + y'^2)/2", "-1/sqrt(x^2 + y^2)"
herglotz = ch.System("x y", "gamma", lagrangian=f"{kinetic} - ({potential}) - gamma*s", action="s", name="planet in a gas")
rayleigh = ch.System("x y", "gamma", lagrangian=f"{kinetic} - ({potential})", dissipation=f"gamma*{kinetic}", name="planet in a gas")

equations = ch.derive(herglotz, ch.Herglotz())
print(equations, "\n")
print(ch.symmetries(equations), "\n")

start, values = {"x": 1, "y": 0, "x'": 0, "y'": 1.15}, {"gamma": 0.04}
motion = ch.simulate(equations, {**start, "s": 0}, (0, 25), parameters=values, tolerance=1e-11)
other = ch.simulate(ch.derive(rayleigh), start, (0, 25), parameters=values, tolerance=1e-11)
print(f"Herglotz and Rayleigh end {abs(motion.final['x'] - other.final['x']):.0e} apart")

momentum = motion["x*y' - y*x'"]
quotient = momentum / motion.energy
print(f"angular momentum: {momentum[0]:.4f} -> {momentum[-1]:.4f}; divided by the energy: {quotient[0]:.6f} -> {quotient[-1]:.6f}")

ch.plot.path(motion).savefig(folder / "planet_path.png")
ch.plot.series(motion, ["x*y' - y*x'", "s"]).savefig(folder / "planet_series.png")
ch.plot.balance(other).savefig(folder / "planet_balance.png")  # energy and the work of friction
print(f"wrote planet_path.png, planet_series.png and planet_balance.png to {folder.resolve()}")

"""The inverse problem: does a parachutist have a Lagrangian?

What one learns: Helmholtz' conditions decide whether equations are Euler-Lagrange equations as they stand, and name the one that fails.
Friction fails. But a factor changes no solution: with exp(b*t) linear friction has a Lagrangian, and drag proportional to the square of the
speed has one that does not contain time. So there is an energy, a constant of a motion that loses its mechanical energy all the way down.
"""

import sys
from pathlib import Path

import chetaev as ch

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

# Rows in the sign of the inverse problem: dL/dx - d/dt dL/dx', minus those that `derive` prints.
friction = ch.DynamicalForm("x", ["-x'' - b*x' - k*x"], parameters="b k", name="spring with friction")
print(ch.helmholtz(friction))
print(ch.integrating_factor(friction), "\n")

fall = ch.DynamicalForm("x", ["g - b*x'^2 - x''"], parameters="g b", name="fall")  # x points down
print(ch.helmholtz(fall))
factor = ch.integrating_factor(fall)
print(factor, "\n")

newton = ch.System("x", "g b", lagrangian="x'^2/2 + g*x", forces={"x": "-b*x'^2"}, name="fall with drag")
lagrange = ch.System("x", "g b", lagrangian=factor.lagrangian, name="fall from the Lagrangian found")
start, values = {"x": 0, "x'": 0}, {"g": 9.81, "b": 0.3}
motions = {
    "Newton": ch.simulate(ch.derive(newton), start, (0, 2.5), parameters=values),
    "Lagrange": ch.simulate(ch.derive(lagrange), start, (0, 2.5), parameters=values),
}
for name, motion in motions.items():
    print(f"{name:<8}  falls {motion.final['x']:.6f};  energy {motion.energy[0]:.6f} -> {motion.energy[-1]:.6f}")

print(ch.hamiltonian(lagrange))
ch.plot.compare(motions, ["x", "x'"]).savefig(folder / "fall_motions.png")
ch.plot.balance(motions["Newton"]).savefig(folder / "fall_balance.png")
print(f"wrote fall_motions.png and fall_balance.png to {folder.resolve()}")

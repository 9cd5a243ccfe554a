"""Accelerations in the Lagrangian: the Pais-Uhlenbeck oscillator, its Hamiltonian, and a motion that runs away.

What one learns: L may contain q'' and higher derivatives; then the equation is of fourth order, and a state has four values. Legendre's
transformation is a morphism: it carries equations, starts and motions to positions and momenta. The Hamiltonian is linear in a momentum
and so has no lower bound. The free oscillator does not mind. With an interaction, a start only a quarter larger runs away to infinity,
while the energy stays what it was: Ostrogradsky's instability.
"""

import sys
from pathlib import Path

import chetaev as ch

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

free = "(q''^2 - (w1^2 + w2^2)*q'^2 + w1^2*w2^2*q^2)/2"
oscillator = ch.System("q", "w1 w2 b", lagrangian=f"{free} - b*q^4/4", name="Pais-Uhlenbeck oscillator")
equations = ch.derive(oscillator)
print(equations, "\n")

legendre = ch.hamiltonian(oscillator)
print(legendre, "\n")

values = {"w1": 1.7, "w2": 1.0, "b": 1}
small = {"q": 0.64, "q'": 0.24, "q''": -0.4, "q'''": 0.32}
large = {name: 1.25 * value for name, value in small.items()}
far = ch.On("q^2 - 100", terminal=True)
motions = {
    "small": ch.simulate(equations, small, (0, 25), parameters=values, events=[far]),
    "a quarter larger": ch.simulate(equations, large, (0, 25), parameters=values, events=[far]),
}
for name, motion in motions.items():
    print(f"{name}: {motion.message}  |q| = {abs(motion.final['q']):.2f}, energy {motion.energy[0]:.6f} -> {motion.energy[-1]:.6f}")
ch.plot.compare(motions, ["q"]).savefig(folder / "oscillator_runaway.png")

print("on the other side:", legendre.forward(small, parameters=values))
momenta = ch.simulate(legendre.target, legendre.forward(small, parameters=values), (0, 25), parameters=values)
print("both sides agree:", legendre.check(motions["small"]).largest < 1e-6)
ch.plot.phase(momenta, "q", "p_q").savefig(folder / "oscillator_phase.png")
print(f"wrote oscillator_runaway.png and oscillator_phase.png to {folder.resolve()}")

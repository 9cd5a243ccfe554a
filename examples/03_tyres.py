"""Two tyres: reactions that do work, and the onset of shimmy.

What one learns: a tyre obeys kinematic constraints C_K, but its reactions act along other directions, C_V: virtual work, not d'Alembert.
Rocard's tyre has a constraint of second order and loses energy in bends. Greidanus' tyre also gives way sideways, and straight rolling is
stable only below a threshold of the lateral stiffness alpha: eigenvalues show where, and two motions show what happens beyond.
"""

import sys
from pathlib import Path

import numpy as np

import chetaev as ch

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

rocard = ch.gallery("rocard")
print(ch.classify(rocard), "\n")
print(ch.derive(rocard).eliminate(), "\n")  # (24) and (25) of Cendra, Ibort, de León and Martín de Diego

motion = ch.simulate(rocard)
print(f"energy of Rocard's tyre: {motion.energy[0]:.4f} at the start, {motion.energy[-1]:.4f} at the end")
ch.plot.balance(motion).savefig(folder / "rocard_balance.png")
ch.animate(motion).save(folder / "rocard.html")

greidanus = ch.gallery("greidanus")
names = ["psi", "theta", "epsilon", "y1", "y2", "xi", "psi'", "theta'", "xi'"]
straight = {**dict.fromkeys(names, 0), "psi'": 0.6}  # a steady motion: only the wheel turns
alphas = np.linspace(0.5, 6, 56)
sweep = ch.eigenvalue_sweep(greidanus, straight, "alpha", alphas)
unstable = alphas[sweep.real.max(axis=1) > 1e-9]
J, M, beta = (greidanus.parameters[name] for name in ["J", "M", "beta"])
print(f"straight rolling of Greidanus' tyre is unstable from alpha = {unstable[0]:.1f} on; beta*M/J = {beta * M / J:.2f}")
ch.plot.eigenvalues(sweep, alphas, "alpha", title="Greidanus' tyre, straight rolling").savefig(folder / "greidanus_eigenvalues.png")

disturbed = {**straight, "theta'": 0.05}
motions = {f"α = {alpha}": ch.simulate(greidanus, disturbed, (0, 40), parameters={"alpha": alpha}) for alpha in (2.5, 3.8)}
ch.plot.compare(motions, ["theta", "epsilon"]).savefig(folder / "greidanus_shimmy.png")
print(f"wrote rocard_balance.png, rocard.html, greidanus_eigenvalues.png and greidanus_shimmy.png to {folder.resolve()}")

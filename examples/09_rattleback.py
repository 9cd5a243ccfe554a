"""The rattleback: a stone that reverses its spin, on SO(3) and without angles.

What one learns: a rotation can be a coordinate as it is. `{"A": "SO3 body"}` declares one; A1' A2' A3' are the components of its angular
velocity and A11 ... A33 the entries of its matrix, in any expression. There is no place where such coordinates break down, and every
step ends on the group to round-off. Spun the wrong way, the stone begins to rattle, stops, and turns back, while its energy is constant:
friction of the ground exerts a torque but does no work.
"""

import sys
from pathlib import Path

import numpy as np

import chetaev as ch

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

stone = ch.gallery("rattleback")
print(stone.prose, "\n")

motion = ch.simulate(stone)
spin, energy = motion["A3'"], motion.energy
print(f"spin: {spin[0]:+.2f} at the start, {spin[-1]:+.2f} at the end; energy changed by {np.abs(energy - energy[0]).max():.0e}")

matrices = motion.rotation("A")
print(f"the matrices are orthogonal to {np.abs(matrices @ matrices.transpose(0, 2, 1) - np.eye(3)).max():.0e}")

# Linearised about the steady spin: exponents of a Hamiltonian system would come in pairs of opposite sign. These do not.
rest = {"A": np.eye(3), "x": 0, "y": 0, "A1'": 0, "A2'": 0}
for turning in (5, -5):
    exponents = ch.linearize(stone, {**rest, "A3'": turning}).eigenvalues
    print(f"growth rates at the spin {turning:+d}:", *sorted({round(mu.real, 3) for mu in exponents}))

ch.plot.series(motion, ["A3'", "A1'", "A2'"]).savefig(folder / "rattleback_spin.png")
ch.animate(motion, seconds=16).save(folder / "rattleback.html")  # at half speed
print(f"wrote rattleback_spin.png and rattleback.html to {folder.resolve()}")

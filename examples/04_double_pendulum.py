"""Sensitivity: two double pendulums that part, and a map of ten thousand.

What one learns: neighbouring motions of a chaotic system part exponentially, so a start known to a millionth says little after a quarter
of a minute. `simulate_many` runs a whole plane of starts in compiled code. The map shows how often the lower rod has turned over after
six seconds: not at all in the smooth heart, where the energy is small, and beyond it by stripes that dissolve into dust.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import chetaev as ch

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

model = ch.gallery("double-pendulum")
start = {"theta1": 2.0, "theta2": 1.0, "theta1'": 0, "theta2'": 0}
beside = {**start, "theta2": 1.0 + 1e-6}
motions = {"start": ch.simulate(model, start, (0, 20)), "a millionth beside": ch.simulate(model, beside, (0, 20))}
ch.plot.compare(motions).savefig(folder / "pendulums.png")  # in the last panel, an exponential is a straight line
ch.animate(motions).save(folder / "pendulums.html")

angles = np.linspace(-3, 3, 100)
theta1, theta2 = np.meshgrid(angles, angles)
many = ch.simulate_many(model, {**start, "theta1": theta1, "theta2": theta2}, (0, 6), tolerance=1e-8)
turns = np.round(many.final["theta2/(2*pi)"]).reshape(many.shape)
print(many)
print(f"{np.mean(turns != 0):.0%} of the lower rods have turned over")

picture = Figure(figsize=(5.6, 4.6), layout="constrained")
axes = picture.add_subplot(title="turns of the lower rod", aspect="equal")
axes.set(xlabel=r"$\theta_1$ at the start", ylabel=r"$\theta_2$ at the start")
picture.colorbar(axes.pcolormesh(theta1, theta2, turns, cmap="RdBu", vmin=-3, vmax=3))
picture.savefig(folder / "turns.png", dpi=150)
print(f"wrote pendulums.png, pendulums.html and turns.png to {folder.resolve()}")

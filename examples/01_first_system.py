"""A first system of your own: a sleigh on ice, from the blade to the film.

What one learns: a system is a Lagrangian and constraints, written as on paper. Ask what kind of constraint it is, name a principle, read
the equations, look at the motion. Pushed backwards, the sleigh swings round and ends up running straight ahead with its centre of mass in
front of the blade, and yet it keeps its energy: a conservative system with an attractor.
"""

import sys
from pathlib import Path

import chetaev as ch

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

# (x, y) is the centre of mass and theta the heading. The blade is a distance a behind, and cannot slip sideways.
sleigh = ch.System(
    coordinates={"x": "line", "y": "line", "theta": "angle"},
    parameters="m J a",
    lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2",
    kinematic=["y'*cos(theta) - x'*sin(theta) = a*theta'"],
    name="sleigh",
)
print(ch.classify(sleigh), "\n")

equations = ch.derive(sleigh, ch.DAlembert())
print(equations, "\n")

start = {"x": 0, "y": 0, "theta": 0, "x'": -1, "theta'": 0.1}  # backwards, with a little spin; the blade supplies y'
motion = ch.simulate(equations, start, (0, 14), parameters={"m": 1, "J": 0.4, "a": 0.4})
print(motion, "\n")

forward = motion["x'*cos(theta) + y'*sin(theta)"]  # any expression can be read off a motion
print(f"forward speed: {forward[0]:.3f} at the start, {forward[-1]:.3f} at the end")
print(f"energy:         {motion.energy[0]:.3f} at the start,  {motion.energy[-1]:.3f} at the end")

blade = "x - a*cos(theta)", "y - a*sin(theta)"
ch.plot.path(motion, *blade).savefig(folder / "sleigh_blade.png")  # the blade cannot turn round: its path has a cusp
ch.plot.series(motion, ["theta", "theta'", "lambda1"]).savefig(folder / "sleigh_series.png")
ch.animate(motion).save(folder / "sleigh.html")
print(f"wrote sleigh_blade.png, sleigh_series.png and sleigh.html to {folder.resolve()}")

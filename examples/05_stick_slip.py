"""Dry friction: a block on a running belt sticks, slips, and sticks again, as a string does under the bow.

What one learns: `sign` is not smoothed. The instants at which the block begins to stick and to slip are located, and in between it moves
exactly with the belt. Friction that weakens with the speed of slipping feeds the oscillation: whatever the start, the motion ends on the
same cycle, with a straight edge where the block sticks. The picture that moves is a scene of one's own: shapes, with places as expressions.
"""

import sys
from pathlib import Path

import chetaev as ch
from chetaev.plot import Body, Disk, Rod, Scene, Spring

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

bow = ch.System(
    coordinates="x",
    parameters="m k v F c",
    where={"slip": "x' - v"},
    lagrangian="m/2*x'^2 - k/2*x^2",
    forces={"x": "-F*sign(slip)/(1 + c*abs(slip))"},
    name="block on a belt",
)
equations = ch.derive(bow)
values = {"m": 1, "k": 1, "v": 0.4, "F": 1, "c": 1}
starts = {"at rest": {"x": 0, "x'": 0}, "far out": {"x": 2, "x'": 0}}
motions = {name: ch.simulate(equations, start, (0, 40), parameters=values) for name, start in starts.items()}

for name, motion in motions.items():
    print(f"{name}: {len(motion.switches)} switches, the last ones at t =", *[round(s.t, 3) for s in motion.switches[-4:]])
ch.plot.phase(motions, "x", "x'").savefig(folder / "belt_phase.png")
ch.plot.series(motions["at rest"], ["x", "x'"]).savefig(folder / "belt_series.png")

block = Body("x, 0", outline=["-0.15, 0", "0.15, 0", "0.15, 0.25", "-0.15, 0.25"], colour="blue")
spring = [Rod("-1.2, 0.05", "-1.2, 0.35"), Spring("-1.2, 0.12", "x - 0.15, 0.12")]
belt = [Rod("-1, 0", "2, 0", thread=True), Rod("-1, -0.4", "2, -0.4", thread=True)]
pulleys = [Disk(f"{end}, -0.2", 0.2, angle="-v*t/0.2", colour="grey") for end in (-1, 2)]
scene = Scene([*belt, *pulleys, *spring, block])
ch.animate(motions["at rest"], scene).save(folder / "belt.html")
print(f"wrote belt_phase.png, belt_series.png and belt.html to {folder.resolve()}")

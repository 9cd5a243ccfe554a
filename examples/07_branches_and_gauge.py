"""A singular Lagrangian: where do its motions live, and what do the equations leave free?

What one learns: Cawley's equations are q3'' = 0, q2*q3 = 0 and q1'' = q2^2/2. The product splits the states into two manifolds. On one the
motion is unique; on the other q2 is a free function of time, a gauge, and it drives q1. Nothing is chosen silently: without a branch and a
gauge there is an error that says what is missing.
"""

import sys
from pathlib import Path

import chetaev as ch

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

cawley = ch.System("q1 q2 q3", lagrangian="q1'*q3' + q2^2*q3/2", name="Cawley's Lagrangian")
equations = ch.derive(cawley)
print(equations, "\n")
print(ch.analyze(equations), "\n")

tree = ch.constraint_algorithm(cawley)
print(tree, "\n")
ch.plot.tree(tree).savefig(folder / "cawley_tree.png")

at_rest = {"q1": 0, "q1'": 0, "q3": 0, "q3'": 0}  # where the two manifolds cross
for branch in [None, "q3 = 0"]:
    try:
        ch.simulate(equations, at_rest, (0, 2), branch=branch)
    except ch.StateError as error:
        print(error, "\n")

gauges = ["0", "t", "2*sin(4*t)"]
motions = {f"q2 = {q2}": ch.simulate(equations, at_rest, (0, 2), branch="q3 = 0", gauge={"q2": q2}) for q2 in gauges}
for gauge, motion in motions.items():
    print(f"{gauge:<16} leads to q1 = {motion.final['q1']:.4f}")
ch.plot.compare(motions, ["q2", "q1"]).savefig(folder / "cawley_gauges.png")
print(f"wrote cawley_tree.png and cawley_gauges.png to {folder.resolve()}")

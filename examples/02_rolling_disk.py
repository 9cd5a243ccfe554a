"""One disk, three principles: how far do d'Alembert, Chetaev and vakonomic motion part?

What one learns: the constraint of rolling cannot be integrated, and then the principle is a physical choice. D'Alembert's disk runs
around a circle, and so does Chetaev's, whose rule is the same for linear constraints. The vakonomic disk makes the action stationary among
all rolling motions; its multipliers are initial data, and only one choice of them gives the circle.
"""

import sys
from pathlib import Path

import chetaev as ch

folder = Path(*sys.argv[1:2])  # files go into the folder given on the command line, or into the current one
folder.mkdir(parents=True, exist_ok=True)

disk = ch.gallery("disk")  # a system of the literature with good values; print(disk) tells its story
for principle in [ch.DAlembert(), ch.Vakonomic()]:
    print(ch.derive(disk.system, principle), "\n")

comparison = ch.compare(disk, t=(0, 8))
print(comparison)

ch.plot.path(comparison).savefig(folder / "disk_paths.png")
ch.plot.compare(comparison, ["x", "y", "varphi"]).savefig(folder / "disk_series.png")

# Several motions in one picture: a comparison, or any motions by name.
motions = {"d'Alembert": comparison[ch.DAlembert()], "vakonomic": comparison[ch.Vakonomic()]}
ch.animate(motions).save(folder / "disks.html")
print(f"\nwrote disk_paths.png, disk_series.png and disks.html to {folder.resolve()}")

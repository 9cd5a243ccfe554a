"""Break one sign at a time and run the tests that should notice: `make mutants` lists the changes that no test notices.

A mutant is a copy of the library in which one `+` is `-`, one `-` is `+`, one minus sign is lost, or one of the named changes is made. For
every module a few test files are run, until the first failure. A mutant whose tests all pass survives: either a test is missing, or the
change makes no difference, which the table `EQUAL` then has to say.

    python tools/mutants.py                      the named changes, and all signs of the modules below
    python tools/mutants.py --named              the named changes only
    python tools/mutants.py singular/dynamical/lepage.py --limit 20
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "chetaev"
SECONDS = 300
"""Wall-clock seconds after which the tests of a mutant count as failed: an endless loop is noticed too."""

TESTS = {
    "mechanics/assemble.py": "unit/test_assemble.py papers/test_001_reduced_principle.py papers/test_002_contact.py "
    "unit/test_forms_move.py",
    "core/groups/coordinate.py": "papers/test_001_reduced_principle.py unit/test_matrix_groups.py",
    "core/groups/matrix_group.py": "unit/test_signs_of_geometry.py unit/test_matrix_groups.py",
    "core/groups/lie_algebra.py": "unit/test_signs_of_geometry.py unit/test_matrix_groups.py",
    "singular/dynamical/lepage.py": "papers/test_003_own_objects.py papers/test_003_constrained_systems.py unit/test_dynamical_form.py",
    "singular/dirac_bergmann/presymplectic.py": "papers/test_004_time_dependent.py papers/test_001_reduced_principle.py unit/test_dirac.py",
    "singular/dirac_bergmann/lagrangian_bundle.py": "unit/test_signs_of_geometry.py papers/test_004_time_dependent.py",
    "singular/dirac_bergmann/result.py": "unit/test_dirac.py",
    "singular/dirac_bergmann/legendre_map.py": "unit/test_signs_of_geometry.py unit/test_dirac.py papers/test_004_reduction.py",
    "singular/contact/geometry.py": "papers/test_002_contact_geometry.py",
    "singular/forms/exterior.py": "unit/test_forms_exterior.py unit/test_signs_of_geometry.py papers/test_001_reduced_principle.py "
    "papers/test_003_forms.py",
    "transforms/contact.py": "papers/test_002_theorems.py papers/test_002_contact_geometry.py papers/test_002_contact.py",
    "transforms/friction.py": "papers/test_000_friction.py papers/test_000_cendra_grillo.py",
    "transforms/lift.py": "papers/test_000_lift_and_linear_version.py papers/test_000_order_lowering.py",
    "transforms/vakonomic_as_free.py": "papers/test_004_reduction.py papers/test_004_vakonomic.py",
}
"""Modules whose signs are broken, and the tests of each, nearest first."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    what: str
    text: str


_FORMS = "singular/dirac_bergmann/presymplectic.py"
_LEPAGE = "singular/dynamical/lepage.py"
NAMED: list[tuple[str, str, str, str]] = [
    (_FORMS, "sign of omega_L", "return -d(theta), energy", "return d(theta), energy"),
    (_FORMS, "sign of E dt in the form of Poincaré and Cartan", "-d(theta - energy * d(TIME))", "-d(theta + energy * d(TIME))"),
    (_FORMS, "sign of the energy that completes a form", "omega + wedge(d(exact(energy))", "omega - wedge(d(exact(energy))"),
    (_LEPAGE, "characteristic distribution without eta_0", "return (first, *self.dynamical", "return (*self.dynamical"),
    (_LEPAGE, "sign in the Hamilton form", "Add(row[-1], *[c * r", "Add(row[-1], *[-c * r"),
    (_LEPAGE, "sign in Hamilton's equations", "*[-term for term in below]", "*[term for term in below]"),
    (_LEPAGE, "factor in alpha", "self.F[r, c] / 2 *", "self.F[r, c] *"),
    (_LEPAGE, "sign of -B^T", "= -form.B[sigma, nu]", "= form.B[sigma, nu]"),
    ("core/groups/coordinate.py", "sign of the bracket of spatial components", "1 if self.body else -1", "1 if self.body else 1"),
    ("core/groups/coordinate.py", "sign of the bracket of body components", "1 if self.body else -1", "-1 if self.body else -1"),
    ("mechanics/assemble.py", "sign of the bracket", "e = e + algebra.of(component", "e = e - algebra.of(component"),
    ("mechanics/assemble.py", "sign of the dissipation", "- system.dissipation.diff", "+ system.dissipation.diff"),
    ("mechanics/assemble.py", "sign of Herglotz' damping", "derivative - self.damping", "derivative + self.damping"),
    ("mechanics/assemble.py", "sign in Ostrogradsky's momenta", "slope - self(found[-1])", "slope + self(found[-1])"),
]
"""Named changes: a file, words, the old text and the new one. The old text must occur once."""

EQUAL: dict[tuple[str, str], str] = {
    (_LEPAGE, "for i in range(s - j - k)"): "more terms of the sum are derivatives by jets that do not occur",
    (
        "mechanics/assemble.py",
        "jets = [[v.d(k) for k in range(max(orders.get(v.base, 0) - v.order, 0) + 1)] for v in velocities]",
    ): "the Lagrangian does not depend on the further jets",
    (
        "transforms/friction.py",
        "self.momentum = [-_linear_part(u, self.velocities) for u in forces]",
    ): "friction and other forces change by opposite amounts; rows contain their sum, and the friction up to a factor",
    (
        "core/groups/matrix_group.py",
        "imaginary = [[e[i + self.order, j] if self.complex else S.Zero for j in n] for i in n]",
    ): "a negative place counts from the end, and the block has twice as many rows",
    (
        "core/groups/lie_algebra.py",
        "total[m] = total.get(m, S.Zero) + v * w",
    ): "the sum of all terms changes its sign, and is compared with zero",
    ("singular/dirac_bergmann/lagrangian_bundle.py", "row = row + p.diff(v) * d(v)"): "the row changes its sign, and is set to zero",
    ("singular/dirac_bergmann/lagrangian_bundle.py", "return -d(theta)"): "the form is contracted with a field and set to zero",
}
"""Changes that make no difference, by file and line of source, with the reason."""


class Signs(ast.NodeTransformer):
    """Change the sign with a given number, in the order of the text."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.seen = wanted, -1
        self.line, self.what = 0, ""

    def _hit(self, node: ast.AST, what: str) -> bool:
        self.seen += 1
        if self.seen == self.wanted:
            self.line, self.what = getattr(node, "lineno", 0), what
        return self.seen == self.wanted

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """A sum or a difference."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Add | ast.Sub) and _mathematical(node):
            plus = isinstance(node.op, ast.Add)
            if self._hit(node, "+ is -" if plus else "- is +"):
                node.op = ast.Sub() if plus else ast.Add()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """A minus sign, except of numbers: those are places in lists."""
        self.generic_visit(node)
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant) and self._hit(node, "a minus is lost"):
            return node.operand
        return node


def _mathematical(node: ast.BinOp) -> bool:
    """Whether a sum may be one of expressions: not of texts, lists, or a place and a number."""
    parts = (node.left, node.right)
    plain = (ast.Constant, ast.List, ast.Tuple, ast.ListComp, ast.JoinedStr)
    return not any(isinstance(part, plain) for part in parts)


def mutants(file: str) -> Iterator[Mutant]:
    """All changes of signs in one file."""
    text = (SOURCE / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    k = 0
    while True:
        signs = Signs(k)
        tree = signs.visit(ast.parse(text))
        if signs.seen < k:
            return
        line = lines[signs.line - 1].strip()
        if (file, line) not in EQUAL:
            yield Mutant(file, f"line {signs.line}: {signs.what}: {line}", ast.unparse(ast.fix_missing_locations(tree)))
        k += 1


def named() -> Iterator[Mutant]:
    """The named changes; an old text that does not occur once is an error."""
    for file, what, old, new in NAMED:
        text = (SOURCE / file).read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise SystemExit(f"{file}: the text of the change {what!r} occurs {text.count(old)} times")
        yield Mutant(file, what, text.replace(old, new))


def survives(mutant: Mutant, folder: Path) -> bool:
    """Whether all tests pass with a mutant in the place of its module."""
    target = folder / "chetaev" / mutant.file
    before = target.read_text(encoding="utf-8")
    target.write_text(mutant.text, encoding="utf-8")
    tests = [f"tests/{name}" for name in TESTS[mutant.file].split()]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, env=environment, timeout=SECONDS, check=False)  # noqa: S603 - ourselves
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        target.write_text(before, encoding="utf-8")


def main() -> int:
    """Run the mutants and list those that survive; the exit code says whether there are any."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="*", help=f"modules: {' '.join(TESTS)}")
    options.add_argument("--named", action="store_true", help="only the named changes")
    options.add_argument("--limit", type=int, default=None, help="at most so many changes for each module, evenly spread")
    given = options.parse_args()
    found = list(named()) if not given.files else []
    for file in (given.files or TESTS) if not given.named else []:
        own = list(mutants(file))
        step = max(1, len(own) // given.limit) if given.limit else 1
        found += own[::step]
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCE, Path(folder) / "chetaev")  # with the compiled loops, which no mutant changes
        for file in sorted({mutant.file for mutant in found}):
            if not survives(Mutant(file, "nothing", (SOURCE / file).read_text(encoding="utf-8")), Path(folder)):
                raise SystemExit(f"the tests of {file} fail without any change")
        for k, mutant in enumerate(found, start=1):
            alive = survives(mutant, Path(folder))
            survivors += [mutant] * alive
            print(f"{k}/{len(found)} {'SURVIVES' if alive else 'noticed '} {mutant.file}, {mutant.what}", flush=True)
    print(f"{len(survivors)} of {len(found)} mutants survive", *[f"  {m.file}, {m.what}" for m in survivors], sep="\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())

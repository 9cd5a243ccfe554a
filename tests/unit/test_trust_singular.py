"""Linear systems of known dimension in other coordinates: the verdict is that of the linear system."""

import pytest

import chetaev as ch

Z = "(y + 7/10*cos(x))"


def rows_alone(coordinates: str, rows: list[str]) -> ch.Equations:
    """Rows without a Lagrangian and without reactions: the rows are all the equations there are."""
    return ch.derive(ch.System(coordinates, lagrangian="0", kinematic=rows, variational=[]), ch.VirtualWork())


@pytest.mark.parametrize("factor", ["1", "(2 + sin(y))"])
@pytest.mark.parametrize(
    ("rows", "dimension"),
    [
        ([f"x - D({Z},3) + D({Z},1) = 0", f"D({Z},2) - {Z} = 0"], 2),  # z'' = z, hence x = z''' - z' = 0
        ([f"x - D({Z},1) + {Z} = 0", f"D({Z},1) - {Z} = 0"], 1),  # z' = z, hence x = 0
        ([f"x - D({Z},1) = 0", f"{Z} = 0"], 0),  # z = 0, hence x = z' = 0
    ],
)
def test_a_pivot_that_vanishes_on_the_smaller_manifold_frees_nothing(rows, dimension, factor):
    """The slope of z by x is -7/10 sin(x), which is zero wherever the consequence x = 0 holds."""
    found = ch.analyze(rows_alone("x y", [f"{factor}*({row.split('=')[0]}) = 0" for row in rows]))
    assert (found.verdict, found.dimension, found.free_functions) == (ch.Verdict.CONSTRAINED, dimension, ())


@pytest.mark.parametrize(
    ("coordinates", "rows", "dimension"),
    [
        (
            "x y",
            ["x' - x - 2*D(y + x^2,2) + 2*(y + x^2) = 0", "D(y + x^2,1) = y + x^2", "x'' - 2*x' + x - 2*D(y + x^2,3) + 2*D(y + x^2,1) = 0"],
            2,
        ),
        (
            "x y",
            [
                "D(x + sin(y),2) + D(x + sin(y),1) = 0",
                "2*D(x + sin(y),3) + x + sin(y) + 2*y' + y = 0",
                "D(x + sin(y),3) + D(x + sin(y),2) = 0",
            ],
            3,
        ),
        ("x y z", ["x = z^3", "y' + z'' - z' = 0", "y' + z'' - z' + y + D(x - z^3,1) = 0", "y' = 0"], 2),
    ],
)
def test_a_row_that_follows_from_others_makes_nothing_inconsistent(coordinates, rows, dimension):
    """With v = y + x^2: v' = v and x' = x + 2 (v'' - v) = x, two constants; the last row is a combination of the others' derivatives."""
    every = ch.analyze(rows_alone(coordinates, rows))
    fewer = ch.analyze(rows_alone(coordinates, rows[:-1]))
    assert every.verdict is not ch.Verdict.INCONSISTENT
    assert (every.verdict, every.dimension) == (fewer.verdict, fewer.dimension)
    assert every.dimension == dimension


def test_a_row_that_does_not_follow_leaves_special_motions():
    """x'' = x' + y' = x + 2*y = -x gives y = -x, then y' = y and x' = x + y = 0 leave rest only."""
    found = ch.analyze(rows_alone("x y", ["x'' + x = 0", "y' = y", "x' = x + y"]))
    assert found.verdict is ch.Verdict.INCONSISTENT


@pytest.mark.parametrize(("length", "time"), [(0, 0), (-6, 6), (-9, 9), (6, -6)])
def test_states_of_a_branch_are_counted_in_any_units(length, time):
    """In w = a, b, c, e: a'' = 0, 3 b'' = lambda1, 3 c'' + 2 e' = 0, e'' + ... = lambda1, and a row of order 3: nine constants."""
    w = {"a": "x + y^2", "b": "y + z^2", "c": "z", "e": "u + 7/10*cos(z)"}
    size = "" if not length else f"1e{length}*"
    where = {name: _in_units(text, size) for name, text in w.items()}
    second = f"1e{-time}" if time else "1"
    system = ch.System(
        "x y z u",
        where=where,
        lagrangian=f"{second}^2*(a'^2 + 3/2*b'^2 + 3/2*c'^2 + e'^2) + 2*{second}*e*c' + e^2",
        kinematic=[f"-a - 1/2*{second}^3*D(b,3) + {second}^2*c'' + 3*{second}^3*D(e,3) = 0"],
        variational=["δe - δb = 0"],
    )
    found = ch.analyze(ch.derive(system, ch.VirtualWork()))
    assert (found.verdict, found.dimension) == (ch.Verdict.CONSTRAINED, 9), found.evidence


def _in_units(text: str, size: str) -> str:
    for q in "xyzu":
        text = text.replace(q, f"({size}{q})")
    return text

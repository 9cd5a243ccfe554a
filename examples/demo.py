"""What the library is for, on two systems: a tyre under virtual work, and a rolling disk under three principles side by side."""

import chetaev as ch


def heading(text: str) -> None:
    """A title, underlined."""
    print(f"\n{text}\n{'=' * len(text)}\n")


def side_by_side(system: ch.System, principles: list[ch.Principle]) -> None:
    """Row by row, what each principle makes of the same system."""
    derived = [ch.derive(system, principle) for principle in principles]
    width = max(len(str(p)) for p in principles)
    for rows in zip(*[equations.rows for equations in derived], strict=True):
        print(rows[0].label)
        for principle, row in zip(principles, rows, strict=True):
            print(f"    {principle!s:<{width}}  {ch.show(row.lhs)} = {ch.show(row.rhs)}")


def accelerations(model: ch.Model, principles: list[ch.Principle]) -> None:
    """The same state under each principle."""
    evaluated = [ch.evaluate(model.under(principle)) for principle in principles]
    print(f"{'':<10}" + "".join(f"{principle!s:>15}" for principle in principles))
    for name in [f"{q.base}''" for q in model.system.coordinates] + ["lambda1", "lambda2"]:
        print(f"{name:<10}" + "".join(f"{round(now[name], 6) + 0.0:>15.6f}" for now in evaluated))


tyre = ch.gallery("rocard")
heading("Rocard's tyre: kinematic and variational constraints that differ")
print(tyre.prose, "\n")
print(ch.classify(tyre), "\n")
print(ch.derive(tyre), "\n")
print("Without multipliers, (24) and (25) of the paper:\n")
print(ch.derive(tyre).eliminate())

disk = ch.gallery("disk")
three: list[ch.Principle] = [ch.DAlembert(), ch.Chetaev(), ch.Vakonomic()]
heading("The rolling disk under three principles")
side_by_side(disk.system, three)
print("\nAt the same positions and velocities:\n")
accelerations(disk, three)
print("\nd'Alembert and Chetaev agree; the vakonomic disk moves differently, and its multipliers are initial data.")

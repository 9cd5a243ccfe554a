"""Principles and theorems that users register, on the command line."""

from dataclasses import replace

import pytest

import chetaev as ch
from chetaev.cli.verbs.transform import command
from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.principles import PRINCIPLES, Lowered
from chetaev.mechanics.principles.base import multipliers
from chetaev.transforms.tools.options import TAKEN, Form, options_of
from chetaev.transforms.tools.theorem import THEOREMS

CART = """\
name = "cart"
lagrangian = "x'^2/2 - x'*theta'*cos(theta) + theta'^2 - cos(theta)"
[coordinates]
x = "line"
theta = "angle"
[constraints]
kinematic = ["x' = theta"]
[principle]
name = "dalembert"
[initial]
fixed = ["x = 0", "theta = 0.1", "theta' = 0.2"]
[simulate]
t = [0, 1]
"""


class Raw(ch.Principle):
    """A reaction along x, times a weight and a function."""

    word = "raw"

    def __init__(self, weight=1):
        self.weight = weight

    def rewrite(self, system):
        x, theta = system.coordinates
        return Lowered(system, system.lagrangian, {multipliers(1)[0]: {x: self.weight * (1 + theta**2)}})


def times(source, factor):
    """A Lagrangian times a number has the same motions."""
    equations = source if isinstance(source, ch.Equations) else ch.derive(source)
    target = ch.derive(equations.system.replace(lagrangian=factor * equations.system.lagrangian), equations.principle)
    same = Frozen({z: z for z in target.unknowns})
    return ch.transforms.Morphism(equations, target, same, same, f"{factor!r} L has the motions of L")


def varied(source, *, order: int = 2, share: float = 0.5, along: "list[str]" = (), row: str = "", both=True, plain=False, table=None):
    """Nothing but its arguments."""
    return replace(times(source, 1), theorem=repr((order, share, along, row, both, plain, table)))


@pytest.fixture(autouse=True)
def registered():
    principles, theorems = PRINCIPLES.copy(), THEOREMS.copy()
    ch.register(Raw)
    ch.register(times)
    yield
    for table, known in ((PRINCIPLES, principles), (THEOREMS, theorems)):
        table.clear()
        table.update(known)


@pytest.fixture
def cart(chetaev, tmp_path):
    (tmp_path / "cart.toml").write_text(CART, encoding="utf-8")
    return chetaev


@pytest.mark.parametrize(
    ("word", "shown"), [("raw(2)", "(2*theta^2 + 2)"), ("raw(2.5)", "(5*theta^2/2 + 5/2)"), ("raw(weight=0.1)", "(theta^2/10 + 1/10)")]
)
def test_numbers_are_settings_of_a_principle(cart, word, shown):
    derived = cart(f"derive cart.toml --principle '{word}'")
    assert derived.exit_code == 0 and shown in derived.stdout
    for verb in ("analyze", "simulate", "report"):
        found = cart(f"{verb} cart.toml --principle '{word}'")
        assert found.exit_code == 0, found.stderr


def test_mixtures_are_compared(chetaev, tmp_path):
    text = CART.replace('["x\' = theta"]', '["x\' = theta", "theta\' = 0.1*x"]').replace(', "theta\' = 0.2"', "")
    (tmp_path / "two.toml").write_text(text, encoding="utf-8")
    words = "mixed(kinematic[0]=dalembert, kinematic[1]=chetaev),dalembert"
    found = chetaev(f"compare two.toml --principles '{words}'")
    assert found.exit_code == 0, found.stderr
    assert "Mixed({'kinematic[0]': DAlembert(), 'kinematic[1]': Chetaev()})" in found.stdout


def test_an_abnormal_extremal_is_typed(cart):
    found = cart("derive cart.toml --principle 'vakonomic(abnormal=true)'")
    assert found.exit_code == 0 and "Vakonomic(abnormal=True)" in found.stdout


def test_an_error_about_a_typed_principle_names_the_option_and_no_line(chetaev, tmp_path):
    (tmp_path / "cart.toml").write_text(CART.replace("x' = theta\"", "x'^2 = theta^2\"").replace("dalembert", "chetaev"), encoding="utf-8")
    for line, place in (
        ("derive cart.toml --principle dalembert", "cart.toml, --principle dalembert, derive 'cart', DAlembert()"),
        ("compare cart.toml --principles dalembert,chetaev", "cart.toml, --principles dalembert,chetaev, derive 'cart', DAlembert()"),
    ):
        found = chetaev(line)
        assert found.exit_code == 2 and found.stderr.startswith(f"PrincipleError · {place}\n")
    (tmp_path / "cart.toml").write_text(CART.replace("x' = theta\"", "x'^2 = theta^2\""), encoding="utf-8")
    assert chetaev("derive cart.toml").stderr.startswith("PrincipleError · cart.toml, principle, line 8, derive 'cart', DAlembert()\n")


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ("--t 1,1", "UsageError · --t 1,1"),
        ("--tolerance -1", "UsageError · --tolerance -1.0"),
        ('--set "x\'=5"', "InitialError · cart.toml, initial, line 10, --set x'=5, simulate 'cart'"),
    ],
)
def test_an_error_about_a_typed_value_names_the_option(cart, options, place):
    found = cart(f"simulate cart.toml {options}")
    assert found.exit_code == 2 and found.stderr.splitlines()[0] == place


def test_a_registered_theorem_has_its_options(cart):
    found = cart("transform cart.toml times --factor 3")
    assert found.exit_code == 0 and "3 L has the motions of L" in found.stdout
    assert "E_x           3*" in found.stdout
    assert "times needs --factor" in cart("transform cart.toml times").stderr
    assert "lift takes no --factor" in cart("transform cart.toml lift --factor 3").stderr
    assert "--factor VALUE" in cart("transform --help").stdout and "times" in cart("transform --help").stdout
    own = cart("transform cart.toml times --help").stdout
    assert "--factor VALUE" in own and "--coordinate NAME" not in own


def test_options_have_the_forms_of_annotations_and_defaults(cart):
    ch.register(varied)
    forms = {name: option.form for name, option in options_of(varied).items()}
    assert forms == {
        "order": Form.INTEGER,
        "share": Form.NUMBER,
        "along": Form.TEXTS,
        "row": Form.TEXT,
        "both": Form.TRUTH,
        "plain": Form.FLAG,
        "table": Form.ANY,
    }
    found = cart("transform cart.toml varied --order 3 --share 0.25 --along x --along 2 --row 'x = 1' --both false --plain --table 'F = x'")
    assert "(3, 0.25, ['x', '2'], 'x = 1', False, True, {'F': 'x'})" in found.stdout
    assert "(2, 0.5, (), '', True, False, None)" in cart("transform cart.toml varied").stdout
    for given, value in (("2", "2"), ("2.5", "2.5"), ("true", "True"), ("x", "'x'")):
        assert f"True, False, {value})" in cart(f"transform cart.toml varied --table {given}").stdout
    for line, said in (
        ("--order 2.5", "'2.5' is not a whole number"),
        ("--share x", "'x' is not a number"),
        ("--both maybe", "'maybe' is not true or false"),
        ("--order 1 --order 2", "--order is given 2 times"),
    ):
        wrong = cart(f"transform cart.toml varied {line}")
        assert wrong.exit_code == 2 and said in wrong.stderr


def test_an_option_of_one_theorem_may_have_another_form_in_another(cart):
    def turned(source, order=False, *, first_row="x"):
        return times(source, 2) if order and first_row == "y" else times(source, 1)

    ch.register(turned)
    assert "2 L has" in cart("transform cart.toml turned --order --first-row y").stdout
    assert "2 L has" in cart("transform cart.toml turned --order --first_row y").stdout
    assert "1 L has" in cart("transform cart.toml turned").stdout


def test_options_of_the_command_itself_cannot_be_arguments():
    own = {name.removeprefix("--") for param in command.params for name in param.opts if name.startswith("--")}
    assert own | {"help"} == set(TAKEN)

    def checked(source, check=True):
        return source

    with pytest.raises(ch.UsageError, match="--check is an option of every transformation"):
        ch.register(checked)

    def placed(source, factor, /):
        return source

    with pytest.raises(ch.UsageError, match="An option gives its argument by name"):
        ch.register(placed)


def test_every_argument_of_an_option_is_one_of_its_theorem():
    import inspect

    for name, theorem in THEOREMS.items():
        assert {option.argument for option in theorem.options.values()} <= set(inspect.signature(theorem.verb).parameters), name


def test_installed_theorems_are_imported_for_their_options(cart, monkeypatch):
    """The word and the option are not known before the extension is imported."""
    del THEOREMS["times"]
    asked = []

    def imported():
        asked.append(1)
        ch.register(times)

    monkeypatch.setattr("chetaev.cli.verbs.transform.import_extensions", imported)
    assert cart("transform cart.toml lift").exit_code == 0 and not asked
    assert "3 L has" in cart("transform cart.toml times --factor 3").stdout and asked


def test_an_unknown_word_in_a_file_leads_to_register_and_extensions(chetaev, tmp_path):
    (tmp_path / "cart.toml").write_text(CART.replace('"dalembert"', '"raws"\nweight = 2'), encoding="utf-8")
    found = chetaev("derive cart.toml")
    assert found.exit_code == 2
    assert found.stderr.splitlines()[:2] == ["ModelError · cart.toml, principle.name, line 9", "  raws is not a principle."]
    assert "Did you mean raw?" in found.stderr and "ch.register" in found.stderr and "--extensions" in found.stderr

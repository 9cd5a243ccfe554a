"""Settings of principles and methods: whatever their type, files, motions and typed texts give them back."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chetaev as ch
from chetaev.cli.session import on_the_command_line
from chetaev.core.fixes import UsePrinciple
from chetaev.core.support.registry import spec_of, words_of
from chetaev.core.support.specs.words import split_words
from chetaev.io.reading import loads
from chetaev.io.schema import COMPARE
from chetaev.io.writing import dumps
from chetaev.mechanics.principles import PRINCIPLES, Lowered, of_spec, of_words
from chetaev.mechanics.principles.base import multipliers
from chetaev.numerics.methods import METHODS
from chetaev.numerics.methods.one_step import OneStep

FREE = ch.System("x", lagrangian="x'^2/2 - x^2/2", name="spring")
ROWS = ["z' = y*x'", "y' = 3*x'/10"]
NAMED = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - x*z", kinematic=dict(zip(["name", "no slip"], ROWS, strict=True)))


class Holder(ch.Principle):
    """Hamilton's principle with settings that change nothing."""

    word = "holder"

    def __init__(self, first=None, second=(), third=None):
        self.first, self.second, self.third = first, second, third

    def rewrite(self, system):
        return Lowered(system, system.lagrangian)


class Outer(ch.Principle):
    """Another principle with its reactions times a weight, and nothing declared about its settings."""

    word = "outer"

    def __init__(self, inner, weight=1):
        self.inner, self.weight = inner, weight

    def rewrite(self, system):
        found = self.inner.normal_form(system)
        scaled = {m: {q: self.weight * c for q, c in row.items()} for m, row in found.reactions.items()}
        return replace(found, reactions=scaled)


class Scaled(ch.Principle):
    """Reactions with a factor for each coordinate, from a mapping or a list."""

    word = "scaled"

    def __init__(self, factors):
        self.factors = factors

    def rewrite(self, system):
        row = {q: f for q, f in zip(system.coordinates, self.factors, strict=True) if f}
        return Lowered(system, system.lagrangian, {multipliers(1)[0]: row})


@pytest.fixture(autouse=True)
def registered():
    """The principles of this file are known during a test, and forgotten after it."""
    before, methods = PRINCIPLES.copy(), METHODS.copy()
    for kind in (Holder, Outer, Scaled):
        ch.register(kind)
    yield
    for table, known in ((PRINCIPLES, before), (METHODS, methods)):
        table.clear()
        table.update(known)


def model(principle, system=FREE):
    return ch.Model(system, principle, start={"x": 1, "x'": 0}, t=(0, 1))


PLAIN = st.one_of(
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12),
    st.sampled_from(["hamilton", "true", "None", "2", "-1e3", "", "x'", "it's", 'say "no"', "a\\b", "{", "no slip", "inf"]),
)
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8).filter(lambda name: name != "name")
PRINCIPLE = st.deferred(
    lambda: st.one_of(
        st.sampled_from([ch.Hamilton(), ch.DAlembert(), ch.Chetaev(), ch.VirtualWork(), ch.AsStated(), ch.Vakonomic()]),
        st.booleans().map(ch.Vakonomic),
        st.sampled_from([ch.DAlembert(), ch.Vakonomic(True), ch.Mixed({"no slip": ch.Vakonomic()})]).map(ch.Herglotz),
        st.dictionaries(st.sampled_from(["name", "rows", "blade", "no slip", "kinematic[0]", "größe"]), SINGLE, min_size=1).map(ch.Mixed),
        st.builds(Outer, SINGLE, PLAIN),
    )
)
SINGLE = st.one_of(st.sampled_from([ch.DAlembert(), ch.Chetaev()]), st.booleans().map(ch.Vakonomic))
SETTING = st.recursive(
    st.one_of(PLAIN, PRINCIPLE),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
HELD = st.builds(Holder, SETTING, st.lists(SETTING, max_size=2), st.none() | PLAIN)
MANY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@MANY
@given(PRINCIPLE | HELD)
def test_typed_texts_are_read_back(principle):
    assert of_words(words_of(principle), "here") == principle


@MANY
@given(PRINCIPLE | HELD)
def test_plain_data_are_read_back(principle):
    found = of_spec(spec_of(principle), "here")
    assert found == principle and hash(found) == hash(principle)


@settings(MANY, max_examples=100)
@given(PRINCIPLE | HELD, PRINCIPLE | HELD)
def test_model_files_are_read_back(principle, other):
    told = model(principle) if other == principle else replace(model(principle), also={other: {"x": 2}})
    assert loads(dumps(told)).principles == told.principles


@pytest.mark.parametrize("word", PRINCIPLES.words())
def test_every_principle_of_the_library_is_covered(word):
    kinds = {"herglotz": ch.Herglotz(ch.Vakonomic(True)), "mixed": ch.Mixed({"name": ch.Vakonomic(), "no slip": ch.DAlembert()})}
    principle = kinds[word] if word in kinds else PRINCIPLES[word]()
    assert of_words(words_of(principle), "here") == principle == of_spec(spec_of(principle), "here")


@pytest.mark.parametrize(
    ("text", "principle"),
    [
        ("vakonomic(abnormal=true)", ch.Vakonomic(True)),
        ("vakonomic(True)", ch.Vakonomic(True)),
        ("vakonomic(abnormal=False)", ch.Vakonomic()),
        ("hamilton()", ch.Hamilton()),
        ("outer(dalembert)", Outer(ch.DAlembert())),
        ("outer(inner=dalembert(), weight=2.5)", Outer(ch.DAlembert(), 2.5)),
        ("outer('dalembert')", Outer("dalembert")),
        ("holder(2)", Holder(2)),
        ("holder([1, 2.5, [x, 'a b']], second=[vakonomic])", Holder([1, 2.5, ["x", "a b"]], [ch.Vakonomic()])),
        ("holder({a=1, 'b c'=dalembert()})", Holder({"a": 1, "b c": ch.DAlembert()})),
        ("holder(third=x')", Holder(third="x'")),
        ("mixed(name=vakonomic, 'no slip'=dalembert)", ch.Mixed({"name": ch.Vakonomic(), "no slip": ch.DAlembert()})),
        ('mixed("no slip"=dalembert)', ch.Mixed({"no slip": ch.DAlembert()})),
        ("Herglotz( Vakonomic )", ch.Herglotz(ch.Vakonomic())),
    ],
)
def test_texts_that_a_person_types(text, principle):
    found = of_words(text, "here")
    assert found == principle
    assert type(found) is not Holder or type(found.first) is not float  # 2 is a whole number, as in a file


@pytest.mark.parametrize(
    "text", ["holder([1", "holder({a=1, a=2})", "holder({1})", "holder('a)", "mixed(a=vakonomic, a=dalembert)", "[1]", "'x'"]
)
def test_texts_that_name_no_principle(text):
    with pytest.raises(ch.PrincipleError, match="does not name a principle"):
        of_words(text, "here")


def test_a_name_of_two_words_without_quotation_marks_is_explained():
    with pytest.raises(ch.PrincipleError, match="does not name a principle") as found:
        of_words("mixed(no slip=dalembert)", "here")
    assert found.value.hint == "a comma between no slip, or quotation marks around a name of several words: 'no slip'"


def test_a_fix_on_the_command_line_can_be_typed():
    """The words stand between quotation marks of the shell, and are read as they were meant."""
    import shlex

    for principle in (
        ch.Vakonomic(True),
        ch.Mixed({"no slip": ch.Vakonomic(), "name": ch.DAlembert()}),
        Outer(ch.DAlembert(), 'a "b" $HOME `c` \\'),
    ):
        option, words = shlex.split(on_the_command_line(UsePrinciple(principle)))
        assert option == "--principle" and of_words(words, option) == principle
    assert on_the_command_line(UsePrinciple(ch.Vakonomic(True))) == '--principle "vakonomic(abnormal=true)"'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("dalembert,vakonomic", ["dalembert", "vakonomic"]),
        ("mixed(a=vakonomic, b=dalembert),dalembert", ["mixed(a=vakonomic, b=dalembert)", "dalembert"]),
        (" herglotz(mixed(a=vakonomic, b=dalembert)) , hamilton", ["herglotz(mixed(a=vakonomic, b=dalembert))", "hamilton"]),
        ("holder([1, 2], {a=1, b=2}), x", ["holder([1, 2], {a=1, b=2})", "x"]),
        ("mixed('a, b)'=vakonomic), holder(x', y)", ["mixed('a, b)'=vakonomic)", "holder(x', y)"]),
        ("", [""]),
        ("a,", ["a", ""]),
        ("a), b", ["a)", "b"]),
    ],
)
def test_principles_are_separated_by_commas_outside_brackets(text, parts):
    assert split_words(text) == parts


def test_the_studio_separates_principles_in_the_same_way():
    """A regular expression cut a mixture inside a mixture, and names with brackets in them."""
    from chetaev.studio.request import read

    words = "herglotz(mixed(a=vakonomic, b=dalembert)), mixed('a (b), c'=chetaev), hamilton"
    assert read({"text": "", "principle": words}).principle == tuple(split_words(words)) and len(split_words(words)) == 3


def test_a_nested_principle_is_kept_by_files_and_motions(tmp_path):
    """Without any declaration: the file has a table, and the reaction is that of d'Alembert's principle halved."""
    told = ch.Model(NAMED, Outer(ch.DAlembert(), 2), start={"x": 0.1, "y": 0.2, "z": 0.3, "x'": 0.5}, t=(0, 0.5))
    ch.save(told, tmp_path / "outer.toml")
    assert 'inner = {name = "dalembert"}' in (tmp_path / "outer.toml").read_text()
    found = ch.load(tmp_path / "outer.toml")
    assert found == told and isinstance(found.principle.inner, ch.DAlembert)
    plain = ch.evaluate(replace(told, principle=ch.DAlembert()))
    assert ch.evaluate(found)["lambda1"] == pytest.approx(plain["lambda1"] / 2, rel=1e-12)
    motion = ch.simulate(found)
    motion.save(tmp_path / "outer.npz")
    again = ch.load(tmp_path / "outer.npz")
    assert again.equations == motion.equations and again.final["z"] == motion.final["z"]


def test_files_of_earlier_versions_are_read():
    text = dumps(model(ch.Herglotz(ch.Vakonomic()), FREE.replace(action="s")))
    assert '[principle]\nname = "herglotz"\ninner = "vakonomic"\n' in text
    assert loads(text).principle == ch.Herglotz(ch.Vakonomic())
    table = text.replace('inner = "vakonomic"', 'inner = {name = "vakonomic"}')
    assert loads(table).principle == ch.Herglotz(ch.Vakonomic())


def test_rows_of_any_name_are_mixed_in_files_and_on_the_command_line(tmp_path):
    mixed = ch.Mixed({"name": ch.Vakonomic(), "no slip": ch.DAlembert()})
    told = ch.Model(NAMED, mixed, start={"x": 0.1, "y": 0.2, "z": 0.3, "x'": 0.5, "lambda1": 0.7}, t=(0, 0.5))
    ch.save(told, tmp_path / "mixed.toml")
    assert 'rows = {name = "vakonomic", "no slip" = "dalembert"}' in (tmp_path / "mixed.toml").read_text()
    assert ch.load(tmp_path / "mixed.toml") == told
    assert of_words("mixed(name=vakonomic, 'no slip'=dalembert)", "here") == mixed
    motion = ch.simulate(told)
    motion.save(tmp_path / "mixed.npz")
    assert ch.load(tmp_path / "mixed.npz").equations.principle == mixed


def test_lists_and_arrays_go_through_every_verb(tmp_path):
    """x' + y' = 0 held by the reaction (1, 3) lambda: y'' = -x'' and 3 (x'' + x) = y'' give x'' = -3 x/4."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2 - x^2)/2", kinematic=["x' + y' = 0"])
    start = {"x": 0.4, "y": 0.1, "x'": 0.2}
    for factors in ([1, 3], (1, 3), np.array([1, 3])):
        told = ch.Model(system, Scaled(factors), start=start, t=(0, 1))
        assert told.principle == Scaled([1, 3]) and hash(told.principle) == hash(Scaled([1, 3]))
        assert ch.evaluate(told)["x''"] == pytest.approx(-3 * 0.4 / 4, rel=1e-12)
        ch.save(told, tmp_path / "scaled.toml")
        assert "factors = [1, 3]" in (tmp_path / "scaled.toml").read_text()
        assert ch.load(tmp_path / "scaled.toml").principle == told.principle
        motion = ch.simulate(told)
        motion.save(tmp_path / "scaled.npz")
        assert ch.load(tmp_path / "scaled.npz").equations.principle == told.principle
    assert "factors = [1, 3]" in ch.report(told, animation=False).html


def test_methods_with_lists_and_infinite_numbers_are_kept(tmp_path):
    @ch.register
    class Heun(ch.Method):
        """The method of Heun; an Euler step estimates its error."""

        word = "heun"

        def __init__(self, weights=(0.5, 0.5), longest=float("inf")):
            self.weights, self.longest = weights, longest

        def stepper(self, task):
            return OneStep(task, self.formula, order=2, places=(0, 1 / 2, 1))

        def formula(self, rates, t, y, h):
            h = min(h, self.longest)
            first = rates(t, y)
            second = rates(t + h, y + h * first)
            end = y + h * (self.weights[0] * first + self.weights[1] * second)
            return end, end - (y + h * first)

    told = replace(model(ch.Hamilton()), t=(0, 0.1), tolerance=1e-4, method=Heun([0.5, 0.5]))
    ch.save(told, tmp_path / "heun.toml")
    assert 'method = {name = "heun", weights = [0.5, 0.5], longest = inf}' in (tmp_path / "heun.toml").read_text()
    assert ch.load(tmp_path / "heun.toml") == told
    motion = ch.simulate(told)
    motion.save(tmp_path / "heun.npz")
    assert ch.load(tmp_path / "heun.npz").method == told.method
    assert METHODS.of_words("heun([0.5, 0.5], inf)", "--method") == told.method
    _methods_are_listed(told, Heun)
    del METHODS["heun"]
    with pytest.raises(ch.ModelError) as refused:
        ch.load(tmp_path / "heun.npz")
    assert "the model in the file is not valid: heun is not a method." in str(refused.value)
    assert "ch.register(its class) first" in refused.value.hint
    assert refused.value.__cause__ is None and refused.value.__suppress_context__


def _methods_are_listed(told, heun):
    for method, hint in (("heun", "method=Heun(), or none"), (heun, "method=Heun(), or none"), ("taylor", "method=ch.Taylor(), or none")):
        with pytest.raises(ch.UsageError) as refused:
            ch.simulate(replace(told, method=None), method=method)
        assert refused.value.hint == hint
    with pytest.raises(ch.UsageError) as refused:
        ch.simulate(replace(told, method=None), method="euler")
    assert refused.value.hint == "method=ch.Implicit(), method=ch.Taylor(), method=Heun(), or none"


class Forgetful(ch.Principle):
    """A principle whose constructor changes its setting, so that it is another one when it is read."""

    word = "forgetful"

    def __init__(self, weight=1):
        self.weight = weight + 1

    rewrite = Holder.rewrite


def test_save_compares_what_it_reads_with_what_was_meant(tmp_path):
    ch.register(Forgetful)
    told = model(Forgetful())
    with pytest.raises(ch.PrincipleError, match=r"Forgetful\(weight=2\) would be read as Forgetful\(weight=3\)") as found:
        ch.save(told, tmp_path / "other.toml")
    assert found.value.where == "save 'spring'" and not (tmp_path / "other.toml").exists()
    with pytest.raises(ch.PrincipleError, match="would be read as"):
        ch.simulate(told).save(tmp_path / "other.npz")
    assert not (tmp_path / "other.npz").exists()


def test_a_motion_under_an_unregistered_principle_is_not_written(tmp_path):
    class Unknown(Holder):
        word = "unheard"

    motion = ch.simulate(model(Unknown()))
    with pytest.raises(ch.PrincipleError, match="Unknown is not registered"):
        motion.save(tmp_path / "unknown.npz")
    with pytest.raises(ch.ModelError, match="unheard is not a principle"):
        ch.save(model(Unknown()), tmp_path / "unknown.toml")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (Fraction(1, 3), "not a number in double precision"),
        (object(), "a value of the type object"),
        ([None], "a value of the type NoneType"),
        ({1: 2}, "the key 1 is not a text"),
        ({"name": "text"}, "a table with the key name is read as a value"),
        (1j, "a value of the type complex"),
    ],
)
def test_settings_that_no_file_can_hold_are_refused_by_the_verb_that_was_called(setting, said, tmp_path):
    told = model(Holder(setting))
    for call, where in ((lambda: ch.save(told, tmp_path / "no.toml"), "save 'spring'"), (lambda: ch.report(told), "report 'spring'")):
        with pytest.raises(ch.UsageError, match=said) as found:
            call()
        assert found.value.where == where
    with pytest.raises(ch.UsageError, match=said) as found:
        ch.simulate(told).save(tmp_path / "no.npz")
    assert found.value.where == "save the motion of 'spring'"


def test_numbers_of_numpy_and_exact_fractions_are_written_as_numbers():
    found = spec_of(Holder([np.float64(2.5), np.int64(3), np.bool_(True), Fraction(1, 2)]))
    assert json.dumps(found) == '{"name": "holder", "first": [2.5, 3, true, 0.5], "second": []}'


@pytest.mark.parametrize("name", ["name", *COMPARE])
def test_names_that_files_use_for_something_else_cannot_be_settings(name):
    """The names of the table [[compare]] and of every spec; `register` says so before a file is lost."""
    space = {}
    exec(f"def made(self, {name}=1): self.{name} = {name}", space)  # noqa: S102
    kind = type("Colliding", (ch.Principle,), {"word": "colliding", "__init__": space["made"], "rewrite": Holder.rewrite})
    with pytest.raises(ch.UsageError, match=f"a setting of Colliding is called {name}"):
        ch.register(kind)
    assert "colliding" not in PRINCIPLES


@pytest.mark.parametrize("word", ["true", "false", "inf", "nan"])
def test_a_value_cannot_be_the_word_of_a_principle(word):
    with pytest.raises(ch.UsageError, match=f"{word} is a value"):
        ch.register(type("Valued", (Holder,), {"word": word}))


def test_a_method_may_have_a_setting_that_only_principles_may_not():
    class Fixed(ch.Method):
        word = "fixed-step"

        def __init__(self, fixed=0.1):
            self.fixed = fixed

    ch.register(Fixed)
    assert METHODS.of_words("fixed-step(fixed=0.2)", "here") == Fixed(0.2)


def test_a_setting_that_is_not_kept_is_refused():
    class Lost(Holder):
        word = "lost"

        def __init__(self, weight):
            self._weight = weight

    with pytest.raises(ch.UsageError, match="Lost does not keep its setting weight"):
        ch.register(Lost)
    with pytest.raises(ch.UsageError, match="Lost does not keep its setting weight"):
        assert Lost(1) == Lost(2)

    class Any(Holder):
        word = "any"

        def __init__(self, *weights):
            self.weights = weights

    with pytest.raises(ch.UsageError, match=r"\*weights of Any is not a setting with a name"):
        ch.register(Any)


def test_settings_may_be_kept_in_several_ways():
    class Property(Holder):
        word = "property"

        def __init__(self, weight=1):
            self._weight = weight

        @property
        def weight(self):
            return self._weight

    class Helped(Holder):
        word = "helped"

        def __init__(self, weight=1):
            self._keep(weight)

        def _keep(self, weight):
            object.__setattr__(self, "weight", weight)

    class Own(Holder):
        word = "own"

        def __init__(self, weight=1):
            self._weight = weight

        def settings(self):
            return {"weight": self._weight}

    @dataclass(frozen=True, eq=False, repr=False)
    class Data(ch.Principle):
        weight: int = 1
        word = "data"

        def rewrite(self, system):
            return Lowered(system, system.lagrangian)

    for kind in (Property, Helped, Own, Data):
        ch.register(kind)
        assert of_words(words_of(kind(3)), "here") == kind(3) != kind(2)
        assert loads(dumps(model(kind(3)))).principle == kind(3)


FILE = dumps(model(ch.Hamilton()))


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ('[principle]\nname = "wait"\nweight = 2', "principle.name"),
        ('[principle]\nname = "hamilton"\n[[compare]]\nname = "wait"\nx = 1', "compare.name"),
    ],
)
def test_an_unknown_word_is_called_unknown_before_its_settings(table, place):
    text = FILE.replace('[principle]\nname = "hamilton"', table)
    with pytest.raises(ch.ModelError, match="wait is not a principle") as found:
        loads(text, "m.toml")
    assert place in found.value.where
    for said in ("Known: hamilton dalembert", "ch.register(its class) first", "chetaev --extensions"):
        assert said in found.value.hint
    with pytest.raises(ch.ModelError) as near:
        loads(text.replace('"wait"', '"vakonmic"'), "m.toml")
    assert near.value.hint.startswith("Did you mean vakonomic?")


def test_a_constructor_that_refuses_its_settings_says_why():
    class Positive(Holder):
        word = "positive"

        def __init__(self, weight=1):
            if weight <= 0:
                raise ValueError("the weight is not positive")
            self.weight = weight

    ch.register(Positive)
    for call in (lambda: of_words("positive(-1)", "here"), lambda: of_spec({"name": "positive", "weight": -1}, "here")):
        with pytest.raises(ch.PrincipleError, match="the weight is not positive"):
            call()
    with pytest.raises(ch.ModelError, match="the weight is not positive"):
        loads(FILE.replace('name = "hamilton"', 'name = "positive"\nweight = -1'))


def test_files_refuse_values_that_are_no_settings():
    with pytest.raises(ch.ModelError, match="a list or a table is expected here, not"):
        loads(FILE.replace('name = "hamilton"', 'name = "holder"\nfirst = [1979-05-27]'))

"""The verbs say what the library says, and write what it computes."""

import csv

import numpy as np
import pytest

import chetaev as ch

SPRING = """\
name = "spring"
lagrangian = "m*x'^2/2 - k*x^2/2"
[coordinates]
x = "line"
[parameters]
m = 2
k = 8
[forces]
x = "u"
[inputs]
u = "0"
[principle]
name = "hamilton"
[initial]
fixed = ["x = 1", "x' = 0"]
[simulate]
t = [0, 1]
tolerance = 1e-12
"""


def test_the_words_are_those_of_python(chetaev):
    model = ch.gallery("rocard")
    assert chetaev("derive rocard").stdout == f"{ch.derive(model)}\n"
    assert chetaev("derive rocard --latex").stdout == f"{ch.derive(model).latex()}\n"
    assert chetaev("derive rocard --eliminate").stdout == f"{ch.derive(model).eliminate()}\n"
    assert chetaev("analyze rocard").stdout == f"{ch.analyze(model)}\n"
    assert chetaev("classify rocard").stdout == f"{ch.classify(model)}\n"
    assert chetaev("gallery show rocard").stdout == f"{model}\n"
    assert chetaev("simulate rocard --t 2").stdout.startswith(f"{ch.simulate(model, t=(0, 2))}\n")
    with pytest.raises(ch.GaugeError) as fault:
        ch.simulate(ch.gallery("krupkova"))
    facts = str(fault.value).rpartition("\n")[0]  # what to do is said in options
    assert chetaev("simulate krupkova").stderr == f'{facts}\n  -> --gauge "q2 = 0.4 - 0.3*sin(t)"\n'


def test_simplify_gives_the_simplified_rows(chetaev):
    assert "k*x" in chetaev("derive - --simplify", text=SPRING).stdout


def test_principles_by_their_words(chetaev):
    for word, principle in (
        ("dalembert", ch.DAlembert()),
        ("chetaev", ch.Chetaev()),
        ("vakonomic", ch.Vakonomic()),
        ("DAlembert", ch.DAlembert()),
    ):
        assert chetaev(f"derive disk --principle {word}").stdout == f"{ch.derive(ch.gallery('disk').system, principle)}\n"
    system = ch.gallery("disk-contact").system
    assert chetaev("derive disk-contact --principle 'herglotz(vakonomic)'").stdout == f"{ch.derive(system, ch.Herglotz(ch.Vakonomic()))}\n"
    assert chetaev("derive damped-oscillator --principle herglotz").stdout.startswith("damped oscillator · Herglotz()")
    for word, message in (
        ("dalambert", "Did you mean dalembert?"),
        ("'herglotz(herglotz)'", "one of the other principles"),
        ("'chetaev(vakonomic)'", "no inner principle"),
        ("'herglotz(x)'", "x is not a principle"),
        ("hamilton", "PrincipleError · derive"),
    ):
        found = chetaev(f"derive disk --principle {word}")
        assert found.exit_code == 2 and message in found.stderr


def test_set_changes_parameters_inputs_and_the_start(chetaev):
    """m x'' = -k x + u from x(0) = a, x'(0) = b has a closed form; m = 3, k = 12: the frequency is 2."""
    call = "simulate - --set m=3 --set k=12 --set 'u = 6' --set x=1/4 --set \"x' = -1.5\" --t 0,0.7 -o - --points 2"
    found = chetaev(call, text=SPRING)
    last = dict(zip(*[line.split(",") for line in (found.stdout.splitlines()[0], found.stdout.splitlines()[-1])], strict=True))
    x = 0.5 + (0.25 - 0.5) * np.cos(1.4) - 0.75 * np.sin(1.4)
    assert float(last["t"]) == 0.7
    assert float(last["x"]) == pytest.approx(x, abs=1e-10)
    assert float(last["x''"]) == pytest.approx((6 - 12 * x) / 3, abs=1e-9)


def test_set_replaces_a_datum_however_it_is_spelt(chetaev):
    found = chetaev("simulate sleigh --set θ=0.25 --t 0.1 -o -")
    assert found.stdout.splitlines()[1].split(",")[7] == "0.25"
    assert chetaev("simulate sleigh --set 'alpha = 1'").stderr.startswith("ParameterError · --set alpha\n  alpha is neither a parameter")
    assert "is not of the form name = value" in chetaev("simulate sleigh --set alpha").stderr
    assert "a is given twice" in chetaev("simulate sleigh --set a=1 --set a=2").stderr


def test_the_interval_and_the_tolerance(chetaev):
    assert "t = 0 to 3" in chetaev("simulate sleigh --t 3").stdout
    assert "t = 1 to 6.28319" in chetaev("simulate sleigh --t 1,2*pi").stdout
    assert "t = 0.785398 to 2" in chetaev("simulate sleigh --t 'atan2(1, 1), 2'").stdout
    assert "t = 0 to -1" in chetaev("simulate sleigh --t 0,-1").stdout
    for wrong in ("1,2,3", "a,b", "1,", "1,1"):
        assert chetaev(f"simulate sleigh --t {wrong}").exit_code == 2
    coarse, fine = (
        int(chetaev(f"simulate sleigh --tolerance {tolerance}").stdout.split(" steps")[0].split()[-1]) for tolerance in (1e-3, 1e-12)
    )
    assert coarse < fine
    assert chetaev("simulate sleigh --tolerance -1").exit_code == 2


def test_a_table_holds_the_motion(chetaev, tmp_path):
    found = chetaev("simulate sleigh -o run.csv")
    assert found.exit_code == 0 and "wrote run.csv: 10 columns at" in found.stderr
    motion = ch.simulate(ch.gallery("sleigh"))
    with open(tmp_path / "run.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for name in ("t", "x", "theta'", "y''", "lambda1"):
        wanted = motion.t if name == "t" else motion[name]
        assert [float(row[name]) for row in rows] == pytest.approx(list(wanted), abs=1e-15)


def test_evenly_spaced_times(chetaev, tmp_path):
    import xarray

    assert chetaev("simulate sleigh -o run.nc --points 11").exit_code == 0
    motion = ch.simulate(ch.gallery("sleigh"))
    with xarray.open_dataset(tmp_path / "run.nc", engine="scipy") as data:
        assert list(data["t"].values) == pytest.approx(list(np.linspace(0, 10, 11)))
        assert list(data["theta'"].values) == pytest.approx(list(motion.at(np.linspace(0, 10, 11))["theta'"]), abs=1e-12)
        assert data.attrs["principle"] == "DAlembert()"


def test_a_saved_motion_is_read_back(chetaev, tmp_path):
    from chetaev.numerics.motion.storage import load

    assert chetaev("simulate rocard -o run.npz --t 1").exit_code == 0
    assert load(tmp_path / "run.npz").at(0.5)["psi"] == ch.simulate(ch.gallery("rocard"), t=(0, 1)).at(0.5)["psi"]


def test_what_cannot_be_written_is_refused_before_the_run(chetaev, tmp_path):
    for line, message in (
        ("simulate sleigh -o run.xls", "files with the ending .xls are not written"),
        ("simulate sleigh -o run", "files without an ending"),
        ("simulate sleigh -o no/such/run.csv", "there is no folder no/such"),
        ("simulate sleigh --plot run.bmp", "files with the ending .bmp are not written"),
        ("simulate sleigh --plot no/such/run.png", "there is no folder"),
        ("simulate sleigh -o run.npz --points 5", "--points needs a table"),
        ("simulate sleigh -o run.csv --points 1", "--points 1 is too small"),
        ("animate sleigh -o film.avi", "files with the ending .avi are not written"),
        ("report sleigh -o report.pdf", "files with the ending .pdf are not written"),
    ):
        found = chetaev(line)
        assert found.exit_code == 2 and message in found.stderr, line
    assert not list(tmp_path.iterdir())


def test_pictures_with_and_without_a_name(chetaev, tmp_path):
    assert "wrote sleigh.png" in chetaev("simulate --plot sleigh --t 1").stderr
    assert "wrote run.svg" in chetaev("simulate sleigh --t 1 --plot run.svg").stderr
    assert "wrote tree.pdf" in chetaev("analyze cawley --plot tree.pdf").stderr
    assert "wrote both.png" in chetaev("compare heisenberg --t 1 --plot both.png").stderr
    assert (tmp_path / "sleigh.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "run.svg").read_bytes()
    assert (tmp_path / "tree.pdf").read_bytes().startswith(b"%PDF")


def test_methods(chetaev):
    for method in ("explicit", "implicit", "taylor"):
        assert "finished" in chetaev(f"simulate sleigh --t 1 --method {method}").stdout
    assert "worst:" in chetaev("simulate sleigh --t 1 --verify").stdout


def test_compare_is_that_of_python(chetaev):
    model = ch.gallery("sleigh")
    assert chetaev("compare sleigh --t 2").stdout == f"{ch.compare(model, t=(0, 2))}\n"
    assert chetaev("compare sleigh --principles vakonomic,dalembert --t 2").stdout.splitlines()[2].startswith("  Vakonomic()")


def test_compare_takes_multipliers_from_the_file_or_from_set(chetaev):
    start = {**ch.gallery("sleigh").start.fixed, "lambda1": -0.3}
    values = dict(ch.gallery("sleigh").parameters)
    wanted = ch.compare(ch.gallery("sleigh").system, [ch.DAlembert(), ch.Vakonomic()], start, t=(0, 2), parameters=values)
    assert chetaev("compare sleigh --principles dalembert,vakonomic --set lambda1=-0.3 --t 2").stdout == f"{wanted}\n"
    text = chetaev("gallery write sleigh -").stdout
    bare = text[: text.index("[[compare]]")]
    found = chetaev("compare - --principles dalembert,vakonomic", text=bare)
    assert found.exit_code == 2 and '--set "lambda1 = ..."' in found.stderr
    assert chetaev("compare - --principles dalembert,vakonomic --set lambda1=-0.3 --t 2", text=bare).stdout == f"{wanted}\n"
    assert "at least two different principles" in chetaev("compare -", text=bare).stderr
    assert chetaev("compare sleigh --principles dalembert,dalembert").exit_code == 2


def test_transform_simplifies_the_maps_and_the_target(chetaev):
    """The value of the sleigh's Hamiltonian is that of p M^-1 p / 2 with the matrix of the kinetic energy, simplified or as printed."""
    long = chetaev("transform chain hamiltonian").stdout
    assert "--simplify may shorten long rows" in long and ".simplify()" not in long
    shown = [chetaev(f"transform sleigh hamiltonian {option}").stdout for option in ("", "--simplify")]
    assert all("may shorten" not in text and max(map(len, text.splitlines())) < 250 for text in shown)
    plain, simple = ([line.partition(" = ")[2] for line in text.splitlines() if line.startswith("  H = ")] for text in shown)
    m, j, a, theta, p = 1.3, 0.4, 0.7, 0.6, np.array([0.9, -0.5, 0.8])
    sine, cosine = np.sin(theta), np.cos(theta)
    mass = np.array([[m, 0, -m * a * sine], [0, m, m * a * cosine], [-m * a * sine, m * a * cosine, j + m * a**2]])
    values = {"m": m, "J": j, "a": a, "theta": theta, "p_x": p[0], "p_y": p[1], "p_theta": p[2]}
    for [text] in (plain, simple):
        found = ch.System("theta p_x p_y p_theta", "m J a", lagrangian=text).lagrangian
        number = found.subs({z: values[z.name] for z in found.free_symbols})
        assert float(number) == pytest.approx(p @ np.linalg.solve(mass, p) / 2, rel=1e-12)


def test_transform_prints_the_theorem_and_the_target(chetaev, tmp_path):
    found = chetaev("transform double-pendulum hamiltonian --check -o h.toml")
    legendre = ch.hamiltonian(ch.gallery("double-pendulum"))
    assert found.stdout.startswith(f"{legendre}\n\n{legendre.target}\n\nlargest difference ")
    assert float(found.stdout.split("largest difference ")[1].split()[0]) < 1e-7
    target = ch.simulate(ch.load(tmp_path / "h.toml"), t=(0, 1), tolerance=1e-11)
    source = ch.simulate(ch.gallery("double-pendulum"), t=(0, 1), tolerance=1e-11)
    assert target.final["theta1"] == pytest.approx(source.final["theta1"], abs=1e-8)


@pytest.mark.parametrize(
    "line",
    [
        "rocard lift",
        "rocard lift --order 3",
        "disk linearize-constraints",
        "damped-oscillator contact_as_nonholonomic",
        "damped-oscillator contact-as-vakonomic",
        "sleigh vakonomic-as-free --principle vakonomic",
        "cartesian-pendulum restrict --formula 'x = l*sin(theta)' --formula 'y = -l*cos(theta)'",
        "sleigh reduce-velocities",
        'sleigh reduce-velocities --velocity "u = x\'*cos(theta) + y\'*sin(theta)" --velocity "omega = theta\'"',
        "spherical-pendulum routh --coordinate phi",
        "knife-edge-friction friction-as-constraint --projected",
        'foucault change-coordinates --formula "x = r*cos(phi)" --formula "y = r*sin(phi)" '
        '--inverse "r = sqrt(x^2 + y^2)" --inverse "phi = atan2(y, x)"',
        "sleigh hamel --velocity \"u = x'*cos(theta) + y'*sin(theta)\"",
        "euler-top reduce --group A",
    ],
)
def test_every_transformation_can_be_called(line, chetaev):
    found = chetaev(f"transform {line}")
    assert found.exit_code == 0, found.stderr
    assert "  ->  " in found.stdout.splitlines()[0] and " unknown" in found.stdout


def test_every_verb_that_gives_a_morphism_is_there():
    from chetaev.transforms.tools.theorem import THEOREMS

    makers = {name for name in ch.transforms.__all__ if name.islower() and _annotation(name) in ("Morphism", "ReducedPhaseSpace")}
    assert {name.replace("-", "_") for name in THEOREMS} == makers


def _annotation(name):
    found = getattr(ch, name)
    return getattr(found, "__annotations__", {}).get("return")


def test_transformations_that_do_not_apply(chetaev):
    for line, message in (
        ("sleigh hamiltonin", "Did you mean hamiltonian?"),
        ("sleigh routh", "routh needs --coordinate"),
        ("sleigh lift --coordinate x", "lift takes no --coordinate"),
        ("sleigh change-coordinates", "change-coordinates needs --formula"),
        ("rocard vakonomic-as-free", "PrincipleError"),
        ("sleigh lift -o x.csv", ".csv are not written"),
    ):
        found = chetaev(f"transform {line}")
        assert found.exit_code == 2 and message in found.stderr, line


def test_the_gallery_lists_shows_and_writes(chetaev, tmp_path):
    listed = chetaev("gallery").stdout
    assert listed == chetaev("gallery list").stdout
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ch.gallery()
    assert chetaev("gallery write sleigh").exit_code == 0
    assert ch.load(tmp_path / "sleigh.toml") == ch.gallery("sleigh")
    again = chetaev("gallery write sleigh")
    assert again.exit_code == 2 and "the file exists" in again.stderr
    assert chetaev("gallery write rocard sleigh.toml --force").exit_code == 0
    assert ch.load(tmp_path / "sleigh.toml") == ch.gallery("rocard")
    assert "Did you mean sleigh?" in chetaev("gallery show sleig").stderr


def test_a_file_goes_before_a_name_of_the_gallery(chetaev, tmp_path):
    (tmp_path / "disk").mkdir()
    assert "vertical rolling disk" in chetaev("derive disk").stdout
    (tmp_path / "sleigh").write_text(SPRING, encoding="utf-8")
    assert chetaev("derive sleigh").stdout.startswith("spring")


def test_every_verb_takes_standard_input(chetaev):
    for verb in ("derive", "analyze", "classify", "simulate"):
        found = chetaev(f"{verb} -", text=SPRING)
        assert found.exit_code == 0 and found.stdout.startswith("spring")
    assert chetaev("transform - hamiltonian", text=SPRING).exit_code == 0


@pytest.mark.filterwarnings("ignore:path is deprecated")  # of the package that sets the formulas of a report
def test_reports_and_films_are_written_where_asked(chetaev, tmp_path):
    found = chetaev("report sleigh --set a=0.123 --t 0,2 -o page.html")
    assert found.exit_code == 0 and "wrote page.html" in found.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Chaplygin sleigh" in page and "a = 0.123" in page
    assert chetaev("animate sleigh --t 1 --seconds 1 --fps 3 -o film.gif").exit_code == 0
    assert (tmp_path / "film.gif").read_bytes().startswith(b"GIF8")
    assert "wrote sleigh-motion.html" in chetaev("animate sleigh --t 1 --seconds 1 --fps 3").stderr
    assert "<html" in (tmp_path / "sleigh-motion.html").read_text(encoding="utf-8")
    forbidden = chetaev("report krupkova")
    assert forbidden.exit_code == 3 and "wrote krupkova.html" in forbidden.stderr and "the verdict is GAUGE" in forbidden.stderr


def test_fit_finds_a_value_and_a_principle_in_a_table(chetaev, tmp_path):
    """A spring with k = 2.25 from rest at 1: x = cos(1.5 t)."""
    (tmp_path / "spring.toml").write_text(
        """name = "spring"\nlagrangian = "x'^2/2 - k*x^2/2"\n[coordinates]\nx = "line"\n[parameters]\nk = 1\n"""
        """[principle]\nname = "hamilton"\n[initial]\nfixed = ["x = 1", "x' = 0"]\n[simulate]\nt = [0.0, 3.0]\n"""
    )
    lines = [f"{k / 10},{float(np.cos(0.15 * k))!r}" for k in range(31)]
    (tmp_path / "data.csv").write_text("\n".join(["t,x", *lines]) + "\n")
    found = chetaev("fit spring.toml data.csv --unknown k=0.1,10")
    assert found.exit_code == 0, found.stderr
    assert "k  2.25 ±" in found.stdout and found.stderr == ""
    told = chetaev("fit spring.toml data.csv --unknown k=0.1,10 --principles hamilton")
    assert "Hamilton() " in told.stdout and "it fits" in told.stdout

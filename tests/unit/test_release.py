"""What is published: the source distribution, the wheel, the recipes and the workflows name one version and hold what they need."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder

import chetaev as ch

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The members of a source distribution, without the folder that holds them all, by name."""
    with tarfile.open(next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("dist"))))) as file:
        return {member.name.partition("/")[2]: (member, (file.extractfile(member) or b"") and member.size) for member in file.getmembers()}


def test_the_source_distribution_holds_what_builds_tests_and_documents(sources):
    tracked = [p.relative_to(ROOT).as_posix() for p in (ROOT / "src").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert [name for name in tracked if name not in sources] == []
    for name in (
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "pyproject.toml",
        "hatch_build.py",
        "Makefile",
        "requirements.lock",
    ):
        assert name in sources
    for folder in ("tests/unit", "tests/papers", "docs", "examples", "src/chetaev/gallery/pictures", "src/chetaev/plot/web"):
        assert any(name.startswith(f"{folder}/") for name in sources), folder


def test_the_source_distribution_holds_nothing_else(sources):
    assert not [
        name for name in sources if re.search(r"(^|/)(\.venv|build|dist|__pycache__|\.mypy_cache|\.git|\.github|\.hypothesis)/", name)
    ]
    assert not [name for name in sources if name.endswith((".pyc", ".so", ".o", ".npz")) or name.startswith("..")]
    assert sum(size for _, size in sources.values()) < 20e6
    assert all(member.isfile() for member, _ in sources.values())  # no links


def test_one_version():
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)[1]
    changes = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert PROJECT["project"]["dynamic"] == ["version"] and "version" not in PROJECT["project"]
    assert ch.__version__ == citation == changes
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    path, pattern = re.search(r'load_file="([^"]+)", regex_pattern=\'([^\']+)\'', recipe).groups()
    assert re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))[1] == ch.__version__


def test_the_conda_recipe_has_the_same_dependencies():
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    run = re.search(r"  run:\n(.*?)  run_constrained:", recipe, re.DOTALL)[1]
    listed = {line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()}
    assert listed == {*PROJECT["project"]["dependencies"], f"python{PROJECT['project']['requires-python']}"}


def test_the_loops_are_built_with_what_the_build_system_requires():
    """A wheel is built where only these packages are: the others are hidden here, and everything is imported that compiling needs."""
    needed, present = (
        {re.match(r"[\w-]+", text)[0] for text in listed}
        for listed in (PROJECT["project"]["dependencies"], PROJECT["build-system"]["requires"])
    )
    program = f"""if True:
        import importlib, sys
        sys.modules.update(dict.fromkeys({sorted(needed - present)}))
        from chetaev.numerics.machine import compiling
        from chetaev.numerics.methods.loops import LOOPS
        for loop in LOOPS:
            importlib.import_module(loop.module)
    """
    assert {"sympy", "casadi"} <= needed - present
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr


def test_workflows_are_read_and_run_what_exists():
    yaml = pytest.importorskip("yaml", reason="pyyaml comes with the packages of the documentation")
    read = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS}
    assert set(read) == {"test", "wheel", "docs", "release"}
    for name in ("test", "wheel"):
        systems = [job["strategy"]["matrix"]["os"] for job in read[name]["jobs"].values() if "strategy" in job]
        assert systems == [["ubuntu-latest", "macos-latest", "windows-latest"]]
    steps = [step for flow in read.values() for job in flow["jobs"].values() for step in job.get("steps", ())]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for step in steps:
        told = step.get("run", "")
        assert [t for t in re.findall(r"make ([\w-]+)", told) if t not in targets] == []
        assert [f for f in re.findall(r"[\w./]+\.(?:py|cff|lock|md)\b", told) if not (ROOT / f).exists()] == []
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert path.name == "config.yml" or {"name", "description", "body"} <= set(form)


def test_the_release_stops_where_versions_differ(tmp_path):
    """The commands of the first job, run with the right tag and with another."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    lines = re.search(r"run: \|\n((?: {10}.*\n)+)", text)[1]
    for tag, good in ((f"v{ch.__version__}", True), ("v99.0", False)):
        told = ["sh", "-ec", lines]
        done = subprocess.run(told, cwd=ROOT, env={**os.environ, "GITHUB_REF_NAME": tag}, capture_output=True, check=False)  # noqa: S603
        assert (done.returncode == 0) is good


def test_papers_cited_in_the_draft_are_in_its_bibliography():
    text, bibliography = ((ROOT / "paper" / name).read_text(encoding="utf-8") for name in ("paper.md", "paper.bib"))
    cited, known = (
        set(re.findall(r"@([\w:-]+)", text.split("---", 2)[2])),
        set(re.findall(r"^@\w+\{([\w:-]+),", bibliography, re.MULTILINE)),
    )
    assert cited == known and len(known) > 8
    assert all(f"# {title}" in text for title in ("Summary", "Statement of need", "State of the field", "References"))


@pytest.mark.skipif(
    not os.environ.get("CHETAEV_TEST_WHEEL"), reason="compiles for minutes; CHETAEV_TEST_WHEEL=1 runs it, and so does the workflow"
)
def test_the_wheel_works_in_an_environment_of_its_own(tmp_path):
    """Its script runs both commands of `make demo`; the dependencies are those of this environment."""
    build = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(tmp_path)]
    subprocess.run(build, check=True, env={**os.environ, "CHETAEV_BUILD_FOR": "host"})  # noqa: S603
    (wheel,) = tmp_path.glob("chetaev-*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert (
        any("machine/built/" in name for name in names) and "chetaev/gallery/pictures/sleigh.png" in names and "chetaev/py.typed" in names
    )
    venv.create(tmp_path / "clean", with_pip=False)
    programs = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin")
    python, chetaev = programs / "python", programs / "chetaev"
    where = subprocess.run([python, "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True, check=True)  # noqa: S603
    site = Path(where.stdout.strip())
    own = {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, "CHETAEV_TRACEBACK": "full"}
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run(install, check=True, env=own)  # noqa: S603
    others = [path for path in map(Path, sys.path) if path.name == "site-packages" and path.is_dir()]
    (site / "dependencies.pth").write_text(
        "".join(f"{path}\n" for path in others), encoding="utf-8"
    )  # after `site`, and without its .pth files

    def run(*words):
        done = subprocess.run(list(map(str, words)), env=own, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert site in Path(run(python, "-c", "import chetaev; print(chetaev.__file__)").strip()).parents
    assert ch.__version__ in run(chetaev, "--version")
    run(chetaev, "report", ROOT / "examples" / "rocard.toml", "-o", tmp_path / "rocard.html")
    run(chetaev, "compare", ROOT / "examples" / "disk.toml", "--plot", tmp_path / "disk.png")
    assert "Rocard" in (tmp_path / "rocard.html").read_text(encoding="utf-8")
    assert (tmp_path / "disk.png").read_bytes().startswith(b"\x89PNG")

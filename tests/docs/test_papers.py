"""The index of the papers is complete and true: every numbered equation has a row, a home that exists, and tests that exist."""

import importlib

import pytest
from generate import papers
from measure.homes import digest

import chetaev as ch


@pytest.mark.parametrize("number", papers.PAPERS)
def test_every_numbered_equation_stands_in_exactly_one_row(number):
    listed = [n for row in papers.rows(number) for n in row.numbers]
    assert sorted(listed) == sorted(papers.expand(papers.paper(number)["numbers"]))


@pytest.mark.parametrize("number", papers.PAPERS)
def test_homes_exist(number):
    for row in papers.rows(number):
        name = row.home.removeprefix("chetaev.")
        if name.startswith("gallery."):
            assert name.removeprefix("gallery.").replace("_", "-") in ch.gallery()
        else:
            assert name in (*ch.__all__, *ch.ALSO) or importlib.import_module(row.home)


def test_listed_tests_exist():
    names = {name for _, name in papers.tests()}
    listed = {name for number in papers.PAPERS for row in papers.rows(number) for name in row.listed}
    assert listed - names == set()


def test_tests_name_equations_that_exist():
    for file, name in papers.tests():
        number = file.split("_")[1]
        data = papers.paper(number)["numbers"]
        assert papers.named_equations(name, "." in data) <= set(papers.expand(data)), name


def test_errata_are_about_places_that_exist():
    for e in papers.errata():
        assert e.paper in papers.PAPERS
        assert set(e.equations) <= set(papers.expand(papers.paper(e.paper)["numbers"])), e


def test_a_test_that_says_printed_and_fails_is_an_erratum():
    """Every fault is listed in the tables; variants of one fault are listed once."""
    told = {
        "test_eq_13_opposite_sign_of_the_dissipation_fails",  # not printed anywhere: it shows that the test can fail
        "test_eq_27_of_the_sleigh_with_31_printed_fails",
        "test_section_v_d_printed_energy_grows_backward",
        "test_eq_24_25_printed_energy_rate_is_not_exact",
        "test_eq_41_printed_sign_hides_from_the_energy_law",
        "test_the_printed_second_row_of_97_has_other_motions",
        "test_section_4_printed_hamiltonian_fails_for_the_printed_cost",
        "test_section_8_6_printed_lepage_coefficients_miss_one_half",
        "test_the_economic_model_has_the_printed_hamiltonian_for_the_discount_only",
    }
    marked = {e.test for e in papers.errata()}
    suspicious = {name for _, name in papers.tests() if "printed" in name and "as_printed" not in name}
    assert suspicious - marked - told == set()


def test_what_the_tests_run_was_measured_for_their_present_text():
    """`make homes` measures it again; a test that names an equation and was changed since then counts for nothing until it is."""
    stale = []
    for (file, name), node in papers.tests().items():
        decimal = "." in papers.paper(file.split("_")[1])["numbers"]
        known = papers.ran().get(f"{file}::{name}", {}).get("digest")
        if papers.named_equations(name, decimal) and known != digest(node):
            stale.append(f"{file}::{name}")
    assert stale == [], "make homes"


def test_a_listed_test_makes_no_equation_right():
    """000, (46): a row lists a test, none is named after it: it is used, not right."""
    for number in papers.PAPERS:
        for row in papers.rows(number):
            for n in row.numbers:
                named = [name for name in papers.checks(number)[n] if n in papers.named_equations(name, "." in n)]
                assert named == papers.checks(number)[n]


def test_verdicts_come_from_the_tests():
    verdicts = {row.label: papers.verdict("002", row) for row in papers.rows("002")}
    assert verdicts["13"] == "right"
    assert verdicts["3"] == verdicts["43-45"] == "**corrected**"
    assert verdicts["4"] == "definition"
    assert verdicts["19-20"] == "**corrected**: (19); right: (20)"
    words = [papers.verdict(number, row) for number in papers.PAPERS for row in papers.rows(number)]
    assert not [word for word in words if "not checked" in word or "used by tests" in word]


def test_without_a_test_that_names_it_an_equation_is_not_right(monkeypatch):
    """The same row while no test names its equations: used if a test is listed, not checked otherwise."""
    row = next(row for row in papers.rows("002") if row.label == "19-20")
    monkeypatch.setattr(papers, "checks", lambda number: {n: [] for n in papers.expand(papers.paper(number)["numbers"])})
    assert papers.verdict("002", row) == "**corrected**: (19); used by tests: (20)"
    monkeypatch.setattr(papers, "uses", papers.checks)
    assert papers.verdict("002", row) == "**corrected**: (19); not checked: (20)"

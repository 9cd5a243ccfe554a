"""Scenes: data that prints, places that are where the expressions say, round wheels, pictures that hold everything."""

import json
import math
import pickle
from dataclasses import MISSING, fields, replace
from pathlib import Path

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.scene import Scene, read_scene, written
from chetaev.core.scene import shapes as sh
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
from chetaev.plot.animation import animate
from chetaev.plot.scenes.compose import compose
from chetaev.plot.scenes.default import default_scene, scene_of
from chetaev.plot.scenes.drawing import Camera, Dot, Piece, Solid, Track, Window, Words, nice_step
from chetaev.plot.scenes.text import number, pretty, time_digits
from chetaev.plot.scenes.values import Values, quaternions, turn

SPRING = ch.System("x", parameters="w a", lagrangian="x'^2/2 - w^2*x^2/2", name="spring")
TIMES = np.linspace(0, 3, 31)


@pytest.fixture(scope="module")
def swing():
    """x = 0.4 cos(2 t) + 0.3 sin(2 t)."""
    return ch.simulate(ch.derive(SPRING), {"x": 0.4, "x'": 0.6}, (0, 3), parameters={"w": 2, "a": -0.7}, tolerance=1e-12)


def exact(t):
    return 0.4 * np.cos(2 * t) + 0.3 * np.sin(2 * t)


def drawn(motion, *shapes, times=TIMES, **options):
    return compose(motion, Scene(shapes, **options), times)


def only(drawing, kind):
    (item,) = [item for item in drawing.items if isinstance(item, kind)]
    return item


def test_places_are_the_expressions_at_the_times(swing):
    x = exact(TIMES)
    rate = -0.8 * np.sin(2 * TIMES) + 0.6 * np.cos(2 * TIMES)
    dot = only(drawn(swing, sh.Point("x - a, atan2(x', 2)")), Dot)
    assert dot.place[:, 0] == pytest.approx(x + 0.7, abs=1e-10)
    assert dot.place[:, 1] == pytest.approx(np.arctan2(rate, 2), abs=1e-10)


def test_a_rod_joins_its_ends_and_a_spring_stretches_between_them(swing):
    for shape in (sh.Rod("a, 1", "x, t"), sh.Spring("a, 1", "x, t")):
        piece = only(drawn(swing, shape), Piece)
        for k, t in enumerate(TIMES):
            ends = piece.vertices(piece.strokes[0], k)[[0, -1]]
            assert ends == pytest.approx(np.array([[-0.7, 1], [exact(t), t]]), abs=1e-10)


def test_the_coils_of_a_spring_keep_their_width(swing):
    piece = only(drawn(swing, sh.Spring("-2, 0", "x, 0", width=0.3)), Piece)
    for k in range(len(TIMES)):
        assert np.ptp(piece.vertices(piece.strokes[0], k)[:, 1]) == pytest.approx(0.3, rel=0.02)


def test_an_arrow_ends_at_its_tip_and_keeps_its_head(swing):
    piece = only(drawn(swing, sh.Arrow("0, 0", "x, 2*x + 3")), Piece)
    heads = []
    for k, t in enumerate(TIMES):
        head = piece.vertices(piece.strokes[1], k)
        assert head[0] == pytest.approx([exact(t), 2 * exact(t) + 3], abs=1e-9)
        heads.append(np.linalg.norm(head[1] - head[0]))
    assert heads == pytest.approx([heads[0]] * len(heads))


def test_a_body_turns_anticlockwise_by_its_angle(swing):
    piece = only(drawn(swing, sh.Body("1, a", "t", ["0, 0", "2*w, 0", "2*w, 1"])), Piece)
    for k, t in enumerate(TIMES):
        c, s = math.cos(t), math.sin(t)
        expected = [[1, -0.7], [1 + 4 * c, -0.7 + 4 * s], [1 + 4 * c - s, -0.7 + 4 * s + c]]
        assert piece.vertices(piece.strokes[0], k) == pytest.approx(np.array(expected), abs=1e-9)


def test_an_angle_that_wraps_does_not_jump(swing):
    piece = only(drawn(swing, sh.Blade("x, 0", "atan2(sin(5*t), cos(5*t))")), Piece)
    assert piece.angle == pytest.approx(5 * TIMES)


def test_traces_are_finer_than_the_pictures_and_may_fade(swing):
    drawing = drawn(swing, sh.Trace("x, t", seconds=0.5))
    track = only(drawing, Track)
    assert (len(track.place) - 1) % (len(TIMES) - 1) == 0
    assert track.finer == (len(track.place) - 1) // 30
    assert track.steps == 5  # half a second in steps of a tenth
    assert track.place[:: track.finer, 0] == pytest.approx(exact(TIMES), abs=1e-10)
    assert only(drawn(swing, sh.Trace("x, t")), Track).steps == 0


def test_a_motion_kept_at_single_times_is_joined_by_lines():
    kept = np.linspace(0, 3, 7)
    motion = ch.simulate(ch.derive(SPRING), {"x": 0.4, "x'": 0.6}, kept, parameters={"w": 2, "a": -0.7}, tolerance=1e-12)
    found = Values(motion, TIMES).of("x")
    assert found == pytest.approx(np.interp(TIMES, kept, exact(kept)), abs=1e-9)


# rotations


def test_turns_follow_one_another_in_the_axes_of_the_body(swing):
    a, b = 0.4 * TIMES, 0.3 - TIMES
    found = Values(swing, TIMES).rotation("z 0.4*t, x 0.3 - t")
    for k in range(len(TIMES)):
        c, s, cb, sb = math.cos(a[k]), math.sin(a[k]), math.cos(b[k]), math.sin(b[k])
        assert found[k] == pytest.approx(np.array([[c, -s * cb, s * sb], [s, c * cb, -c * sb], [0, sb, cb]]))
    y = turn(1, np.array([0.7]))[0]
    assert y @ [0, 0, 1] == pytest.approx([math.sin(0.7), 0, math.cos(0.7)])  # the top goes forward


def test_nine_entries_are_the_matrix_row_by_row(swing):
    nine = "cos(t), -sin(t), 0, sin(t), cos(t), 0, 0, 0, 1"
    values = Values(swing, TIMES)
    assert values.rotation(nine) == pytest.approx(values.rotation("z t"))
    assert sh.Ball("0, 0, 0", rotation=nine.split(", ")).rotation == nine


def test_the_name_of_a_rotation_gives_its_matrices():
    """A body that turns steadily about a fixed axis: the exponential of the angular velocity."""
    system = ch.System({"A": "SO3 spatial"}, parameters="I", lagrangian="I/2*(A1'^2 + A2'^2 + A3'^2)", name="ball")
    start = {"A": np.eye(3), "A1'": 0.3, "A2'": -0.5, "A3'": 1.1}
    motion = ch.simulate(ch.derive(system), start, (0, 3), parameters={"I": 1.3}, tolerance=1e-12)
    found = Values(motion, TIMES).rotation("A")
    w = np.array([[0, -1.1, -0.5], [1.1, 0, -0.3], [0.5, 0.3, 0]])
    rate = math.sqrt(0.3**2 + 0.5**2 + 1.1**2)
    for t, matrix in zip(TIMES, found, strict=True):
        rodrigues = np.eye(3) + math.sin(rate * t) / rate * w + (1 - math.cos(rate * t)) / rate**2 * w @ w
        assert matrix == pytest.approx(rodrigues, abs=1e-9)
    solid = only(drawn(motion, sh.Ball("1, 2, 3", 0.5, rotation="A")), Solid)
    assert solid.rotation == pytest.approx(found)


def test_quaternions_give_back_their_rotations_and_do_not_jump():
    angles = np.linspace(0, 9, 80)
    rotations = turn(2, angles) @ turn(0, 0.7 * angles + 1) @ turn(1, -angles)
    rotations = np.concatenate([rotations, [np.diag([1.0, -1, -1]), np.diag([-1.0, 1, -1]), np.diag([-1.0, -1, 1])]])
    q = quaternions(rotations)
    x, y, z, w = q.T
    assert np.linalg.norm(q, axis=1) == pytest.approx(np.ones(len(q)))
    back = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)
    assert back == pytest.approx(rotations, abs=1e-12)
    assert (np.sum(q[1:] * q[:-1], axis=1) >= 0).all()


@pytest.mark.parametrize("axis", "xyz")
def test_a_disk_is_thin_along_its_axle(swing, axis):
    solid = only(drawn(swing, sh.Disk("0, 0, 0", 1.5, axis=axis, thickness=0.1)), Solid)
    spread = dict(zip("xyz", np.ptp(solid.mesh.vertices, axis=0), strict=True))
    assert spread.pop(axis) == pytest.approx(0.1)
    assert list(spread.values()) == pytest.approx([3.0, 3.0])


def meshes_of(motion):
    axis = "0, 0, 0"
    yield only(drawn(motion, sh.Ball(axis, 1)), Solid).mesh, 4 / 3 * math.pi
    yield only(drawn(motion, sh.Disk(axis, 1, thickness=0.2)), Solid).mesh, 0.2 * math.pi
    yield only(drawn(motion, sh.Body(axis, size="1, 2, 3")), Solid).mesh, 6.0
    yield only(drawn(motion, sh.Ellipsoid(axis, "1, 2, 3")), Solid).mesh, 8 * math.pi
    yield only(drawn(motion, sh.Ellipsoid(axis, "1, 2, 3", half=True)), Solid).mesh, 4 * math.pi
    yield only(drawn(motion, sh.Frame(axis, [("0, 0, 0", "0, 0, 2")], rotation="z 0", width=0.2)), Solid).mesh, 0.02 * math.pi + 0.0042


def test_meshes_are_closed_and_look_outwards(swing):
    """The divergence theorem: the faces enclose the volume of the body, with a positive sign if they look outwards."""
    for mesh, volume in meshes_of(swing):
        a, b, c, d = (mesh.vertices[mesh.faces[:, k]] for k in range(4))
        signed = (np.sum(a * np.cross(b, c)) + np.sum(a * np.cross(c, d))) / 6
        assert signed == pytest.approx(volume, rel=0.08)  # facets cut off a little


# pictures


def test_wheels_are_round_in_the_picture(swing):
    for shape in (sh.Wheel("x, 0", 0.3, "t"), sh.Disk("x, 0", 0.3), sh.Ball("x, 0", 0.3), sh.Circle("x, 0", 0.3), sh.Point("x, 0", 0.3)):
        for place in ("5, 1", "0, 7"):  # wide and tall pictures
            animation = animate(swing, Scene([shape, sh.Point(place)]))
            (axes,) = animation.frame(1.0).axes
            assert axes.get_aspect() == 1
            outline = max((patch.get_path().vertices for patch in axes.patches), key=len)
            pixels = axes.transData.transform(outline)
            middle = (pixels[:-1] if np.allclose(pixels[0], pixels[-1]) else pixels).mean(axis=0)
            radii = np.linalg.norm(pixels - middle, axis=1)
            assert radii == pytest.approx(np.full(len(radii), radii.mean()), rel=0.01)


def test_a_picture_keeps_the_ratio_of_its_window(swing):
    drawing = drawn(swing, sh.Point("x, 0"), sh.Label("3, 0", "wall"))
    assert isinstance(drawing.view, Window)
    assert drawing.ratio == pytest.approx(2.0)  # a motion along a line still gets a picture of some height
    assert len(drawing.view.centre) == 1
    (axes,) = animate(swing, Scene([sh.Point("x, 0"), sh.Label("3, 0", "wall")])).frame().axes
    box = axes.get_window_extent()
    assert box.width / box.height == pytest.approx(drawing.ratio, rel=0.01)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert (right - left) / (top - bottom) == pytest.approx(drawing.ratio)


def test_the_window_follows_a_place_and_has_room(swing):
    near = drawn(swing, sh.Disk("10*t, x", 0.5), sh.Trace("10*t, x"), follow="10*t, x")
    wide = drawn(swing, sh.Disk("10*t, x", 0.5), sh.Trace("10*t, x"), follow="10*t, x", room=3)
    assert near.view.half[1] == pytest.approx(0.58)  # the radius and a margin of 8 percent of the diameter
    assert wide.view.half == pytest.approx(3 * near.view.half)
    assert near.view.centre == pytest.approx(np.column_stack([10 * TIMES, exact(TIMES)]), abs=1e-9)


def test_the_camera_stands_still_or_follows_smoothly(swing):
    still = drawn(swing, sh.Ball("x, 0, t", 0.2)).view
    assert isinstance(still, Camera)
    assert len(still.target) == 1
    moving = drawn(swing, sh.Ball("x, 0, t", 0.2), follow="x, 0, t").view
    assert np.diff(moving.target, axis=0) == pytest.approx(np.diff(np.column_stack([exact(TIMES), 0 * TIMES, TIMES]), axis=0), abs=1e-9)
    assert moving.distance < still.distance


def test_a_graph_shows_its_axes(swing):
    (axes,) = animate(swing, Scene([sh.Trace("x, x'"), sh.Point("x, x'")], axes=("x", "x'"))).frame().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "x′")
    assert axes.axison


def test_quantities_stay_on_their_axes(swing):
    drawing = drawn(swing, sh.Slider("x"), sh.Slider("a"), sh.Dial("t"))
    dots = [item for item in drawing.items if isinstance(item, Dot)]
    assert all((dot.place[:, 0] >= -1e-9).all() and (dot.place[:, 0] <= 1 + 1e-9).all() for dot in dots)
    marker = dots[0].place[:, 0]
    assert np.corrcoef(marker, exact(TIMES))[0, 1] == pytest.approx(1)
    shown = [item.values for item in drawing.items if isinstance(item, Words) and item.values is not None]
    assert shown[0] == pytest.approx(exact(TIMES), abs=1e-10)
    hand = [item for item in drawing.items if isinstance(item, Piece) and len(item.angle) > 1]
    assert hand[0].angle == pytest.approx(TIMES)


# scenes as data


def test_scenes_print_small():
    scene = Scene([sh.Rod("0, 0", "x, y"), sh.Wheel("x, y", "R", "theta"), sh.Trace("x, y")], follow="x, 0", caption="a test")
    lines = ["scene in the plane", "rod from (0, 0) to (x, y)", "wheel (x, y) radius R angle theta", "trace (x, y)", "followed at (x, 0)"]
    assert str(scene) == "\n  ".join([*lines, "a test"])
    assert repr(scene) == str(scene)
    assert scene == Scene([sh.Rod(("0", 0), "x,y"), sh.Wheel("x, y", "R", "theta"), sh.Trace("x, y")], follow="x, 0", caption="a test")
    assert hash(scene.shapes[0]) == hash(sh.Rod("0, 0", "x, y"))
    assert str(Scene([sh.Slider("q"), sh.Dial("u")])) == "scene of quantities\n  slider of q\n  dial of u"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: sh.Point("x"), "'x' is not a place"),
        (lambda: sh.Point("x, "), "'x, ' is not a place"),
        (lambda: sh.Rod("0, 0", 3), "3 is not a place"),
        (lambda: Scene([]), "a scene without shapes"),
        (lambda: Scene(["point"]), "'point' is not a shape"),
        (lambda: Scene([sh.Point("x, y"), sh.Dial("x")]), "sliders and dials have no place"),
        (lambda: Scene([sh.Ground()]), "a scene of the ground alone"),
        (lambda: sh.Circle("0, 0", float("nan")), "nan is not a number"),
        (lambda: sh.Point("x, y", colour="yellowish"), "'yellowish' is not a colour"),
        (lambda: sh.Ball("x, 0, 0", rotation="q t, z x"), "'q t' is not a turn about an axis"),
        (lambda: scene_of(3), "int has no scene"),
    ],
)
def test_mistakes_are_explained(wrong, said):
    with pytest.raises(ch.UsageError, match=said):
        wrong()


def test_an_unknown_name_is_shown_in_its_expression(swing):
    with pytest.raises(ch.NotationError, match="unknown name") as caught:
        drawn(swing, sh.Point("x, yy"))
    assert "yy" in str(caught.value)


def system_of(coordinates):
    names = coordinates if isinstance(coordinates, str) else " ".join(coordinates)
    return ch.System(coordinates, lagrangian=" + ".join(f"{name}'^2" for name in names.split()))


@pytest.mark.parametrize(
    ("coordinates", "places", "caption"),
    [
        ("x y", [("x", "y")], "assumed: (x, y) is a place"),
        ("x y z", [("x", "y", "z")], "assumed: (x, y, z) is a place"),
        ("x1 x2", [("x1", "x2")], "assumed: (x₁, x₂) is a place"),
        ("x1 y1 x2 y2", [("x1", "y1"), ("x2", "y2")], "assumed: (x₁, y₁), (x₂, y₂) are places"),
        ("x13 y13 z13", [("x13", "y13", "z13")], "assumed: (x₁₃, y₁₃, z₁₃) is a place"),
        ("r theta", [("r*cos(theta)", "r*sin(theta)")], "assumed: (r\u2009cos(θ), r\u2009sin(θ)) is a place"),
        ({"r": "line", "q": "angle"}, [("r*cos(q)", "r*sin(q)")], "assumed: (r\u2009cos(q), r\u2009sin(q)) is a place"),
        ("x y theta u", [("x", "y")], "assumed: (x, y) is a place, θ is its heading; not shown: u"),
        ("x y alpha beta", [("x", "y")], "assumed: (x, y) is a place, α is its heading; not shown: β"),
    ],
)
def test_default_scenes_by_names(coordinates, places, caption):
    scene = default_scene(system_of(coordinates))
    assert [shape.at for shape in scene.shapes if isinstance(shape, sh.Trace)] == places
    assert [shape.at for shape in scene.shapes if isinstance(shape, sh.Point | sh.Body)] == places
    assert scene.caption == caption


def test_one_angle_is_the_heading_of_a_point():
    body = default_scene(system_of("x y theta")).shapes[-1]
    assert isinstance(body, sh.Body)
    assert body.angle == "theta"


def test_other_coordinates_get_axes_and_dials():
    scene = default_scene(system_of({"q1": "line", "x3": "line", "u": "angle", "phi1": "line"}))
    assert list(scene.shapes) == [sh.Slider("q1"), sh.Slider("x3"), sh.Dial("u"), sh.Dial("phi1")]
    assert scene.abstract
    assert scene.caption == "assumed: ϕ₁ is an angle"


@pytest.mark.parametrize(
    "kinds",
    [{"x": "angle", "y": "line"}, {"x1": "line", "x2": "angle"}, {"x": "angle", "y": "angle", "z": "angle"}, {"x1": "angle", "y1": "line"}],
)
def test_an_angle_is_never_drawn_as_a_place(kinds):
    """Whatever it is called: it is a hand on a dial."""
    scene = default_scene(system_of(kinds))
    assert list(scene.shapes) == [sh.Dial(name) if kind == "angle" else sh.Slider(name) for name, kind in kinds.items()]


@pytest.mark.parametrize("names", ["a1 a2", "x1 x2"])
def test_coordinates_that_are_read_through_sines_alone_are_angles(names):
    """A double pendulum whose angles are not declared."""
    a, b = names.split()
    energy = f"{a}'^2 + {b}'^2/2 + {a}'*{b}'*cos({a} - {b}) + 2*cos({a}) + cos({b})"
    assert list(default_scene(ch.System(names, lagrangian=energy)).shapes) == [sh.Dial(a), sh.Dial(b)]
    beside = default_scene(ch.System(names, lagrangian=f"{energy} - {a}^2 - {b}^2"))
    assert [shape.at for shape in beside.shapes if isinstance(shape, sh.Point)] == [(a, b)]


def test_the_unit_of_a_coordinate_tells_an_angle():
    energy = "m*(x1'^2 + x2'^2)/2 - c*x1^2"
    units = {"m": "kg*m^2", "c": "N*m", "x1": "rad", "x2": "rad"}
    assert list(default_scene(ch.System("x1 x2", "m c", lagrangian=energy, units=units)).shapes) == [sh.Dial("x1"), sh.Dial("x2")]


def test_default_scenes_of_rotations():
    ball = ch.System({"A": "SO3 spatial", "x": "line", "y": "line"}, lagrangian="A1'^2 + A2'^2 + A3'^2 + x'^2 + y'^2")
    (body,) = [shape for shape in default_scene(ball).shapes if isinstance(shape, sh.Body)]
    assert (body.at, body.rotation) == (("x", "y", "0"), "A")
    flat = ch.System({"A": "SE2 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2")
    (body,) = [shape for shape in default_scene(flat).shapes if isinstance(shape, sh.Body)]
    assert (body.at, body.angle) == (("A13", "A23"), "atan2(A21, A11)")
    free = ch.System({"A": "SE3 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2 + A4'^2 + A5'^2 + A6'^2")
    (body,) = [shape for shape in default_scene(free).shapes if isinstance(shape, sh.Body)]
    assert body.at == ("A14", "A24", "A34")
    (dial,) = default_scene(ch.System({"A": "S1"}, lagrangian="A1'^2")).shapes
    assert dial == sh.Dial("atan2(A21, A11)", label="A")


@pytest.mark.parametrize(("name", "options", "shape", "count"), [("chain", {"n": 5}, sh.Rod, 5), ("trailer", {"n": 1}, sh.Body, 2)])
def test_the_scene_of_a_family_is_that_of_its_member(name, options, shape, count):
    assert sum(isinstance(found, shape) for found in ch.gallery(name, **options).scene.shapes) == count


def test_a_picture_belongs_to_the_model_and_not_to_its_name():
    tyre = ch.gallery("rocard")
    renamed = loads(dumps(tyre).replace('name = "Rocard\'s tyre"', 'name = "mine"'))
    assert renamed.name == "mine"
    assert scene_of(renamed) == tyre.scene
    same_name = ch.Model(ch.System(dict(tyre.system.kinds), lagrangian="x1'^2 + x2'^2", name="Rocard's tyre"), ch.Hamilton())
    assert scene_of(same_name) == scene_of(same_name.system) == default_scene(same_name.system) != tyre.scene
    with pytest.raises(ch.ModelError, match="str is not a scene"):
        ch.Model(tyre.system, tyre.principle, scene="wheel")


def test_every_shape_survives_a_file_with_all_its_fields():
    """As texts, numbers, truth values and lists, which is what files hold; a field that was left out is not written."""
    values = {
        "rods": [("0, 0", "1, x"), ("a, 0", "1, 1")], "outline": ["0, 0", "1, 0", "0, a"], "semiaxes": "a, 1, 2", "size": "1, a, 3",
        "rotation": "z x, y -x", "axis": "y", "seconds": 0.5, "coils": 4, "spokes": 7, "thread": True, "half": True, "fit": True,
        "colour": "#123456", "label": 'a "b" \\', "text": "], }", "height": "-a", "value": "x",
        **dict.fromkeys(("at", "start", "end"), "x, min(a, 2)"),
    }  # fmt: skip
    placed = [kind for kind in sh.SHAPES.values() if kind not in (sh.Slider, sh.Dial)]
    full = [kind(**{f.name: values.get(f.name, "x/2") for f in fields(kind)}) for kind in placed]
    bare = [kind(**{f.name: values[f.name] for f in fields(kind) if f.default is MISSING}) for kind in placed]
    quantities = Scene([sh.Slider("x"), sh.Dial("x", label="u", colour="green")])
    for scene in (Scene(full, follow="x, 0", view=(10, 20.5), room=2, axes=("x", "y"), caption="two\nlines"), Scene(bare), quantities):
        assert loads(dumps(ch.Model(SPRING, ch.Hamilton(), scene=scene))).scene == scene
        assert read_scene(json.loads(json.dumps(written(scene))), lambda key, k: key) == scene
    required = [{"shape", *(f.name for f in fields(kind) if f.default is MISSING)} for kind in placed]
    assert [set(entry) for entry in written(Scene(bare))["shapes"]] == required


def test_a_rigid_motion_of_space_turns_the_box_of_its_default_scene():
    """Free, with the spin (0, 0, 2) about its own axis: after t the box is turned by 2 t, and it is where its velocity took it."""
    free = ch.System({"A": "SE3 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2 + A4'^2 + A5'^2 + A6'^2")
    start = {"A": np.eye(4), **{f"A{k}'": v for k, v in zip(range(1, 7), (0, 0, 0.5, 0, 0, 2.0), strict=True)}}
    motion = ch.simulate(ch.derive(free), start, (0, 0.5))
    (solid,) = [item for item in compose(motion, scene_of(motion), np.array([0, 0.25, 0.5])).items if isinstance(item, Solid)]
    turned = np.array([[np.cos(1), -np.sin(1), 0], [np.sin(1), np.cos(1), 0], [0, 0, 1]])
    assert solid.rotation[2] == pytest.approx(turned, abs=1e-8)
    assert solid.place[2] == pytest.approx([0, 0, 0.25], abs=1e-8)


def test_a_motion_keeps_its_scene_in_files_and_in_pickles(swing, tmp_path):
    scene = Scene([sh.Spring("-1, 0", "x, 0"), sh.Point("x, 0", colour="red")])
    motion = replace(swing, scene=scene)
    assert ch.load(motion.save(tmp_path / "x.npz")).scene == scene
    assert pickle.loads(pickle.dumps(motion)).scene == scene  # noqa: S301
    assert scene_of(motion) == animate(motion).scene == scene
    assert ch.load(swing.save(tmp_path / "y.npz")).scene is None


def test_a_motion_has_the_scene_of_the_model_it_was_simulated_from():
    """Two models with equal equations and different pictures: what is remembered of the equations does not mix them up."""
    model = replace(ch.gallery("cartesian-pendulum"), t=(0.0, 0.1))
    other = replace(model, scene=Scene([sh.Point("x, y")]))
    assert [animate(ch.simulate(m)).scene for m in (model, other, replace(model, scene=None))] == [
        model.scene,
        other.scene,
        default_scene(model.system),
    ]
    assert ch.simulate(ch.derive(model), model.start, model.t, parameters=model.parameters).scene is None


def test_compared_motions_share_the_scene_of_their_model():
    model = replace(ch.gallery("disk"), t=(0.0, 0.1))
    assert {motion.scene for motion in ch.compare(model).motions.values()} == {model.scene}


# texts


def test_names_and_numbers_as_written_by_hand():
    assert [pretty(text) for text in ("theta1'", "q2'' - x", "lambda_3", "varphi", "velocity")] == [
        "θ₁′",
        "q₂′′ − x",
        "λ₃",
        "φ",
        "velocity",
    ]
    assert [number(value) for value in (0.0, -1.23456, 1e-17, 123456)] == ["0", "−1.23", "1e−17", "1.23e5"]
    assert [time_digits(span) for span in (10, 1, 0.5, 1000, 1e6, 1e-4)] == [2, 3, 3, 0, 0, 7]
    assert [nice_step(length, 5) for length in (10, 1, 24, 0.003)] == pytest.approx([2, 0.2, 5, 0.0005])


# sizes that are none


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (sh.Wheel("x, 0", -0.5), r"Wheel, radius\n  -0.5 is not a size"),
        (sh.Wheel("x, 0", "a"), r"Wheel, radius\n  a is -0.7 at the start, which is not a size"),
        (sh.Wheel("x, 0, 0", "a", rotation="z x"), "Wheel, radius"),
        (sh.Disk("x, 0, 0", 1, thickness=-0.1), "Disk, thickness"),
        (sh.Blade("x, 0", 0, "2*a"), "Blade, length"),
        (sh.Spring("0, 0", "x, 0", width=-1), "Spring, width"),
        (sh.Ellipsoid("x, 0", "1, a"), "Ellipsoid, semiaxes"),
        (sh.Body("x, 0, 0", size="1, 2, -3"), "Body, size"),
        (sh.Body("x, 0", scale=-1), "Body, scale"),
    ],
)
def test_a_size_that_is_none_is_refused(swing, shape, words):
    """A wheel of negative radius was drawn as nothing at all."""
    with pytest.raises(ch.UsageError, match=words) as caught:
        drawn(swing, shape)
    assert "abs(" in caught.value.hint


@pytest.mark.parametrize("shape", [sh.Wheel("x, 0, 0", 0), sh.Frame("x, 0, 0", [("0, 0, 0", "0, 0, 0")]), sh.Rod("x, 0, 0", "x, 0, 0")])
def test_a_shape_that_is_a_point_draws(swing, shape):
    assert animate(swing, Scene([shape]), fps=2).frame().axes


def test_sizes_that_are_left_out_or_zero_are_sizes(swing):
    assert len(drawn(swing, sh.Wheel("x, 0"), sh.Wheel("x, 0", "-a"), sh.Circle("0, 0", 0)).items) == 3


def test_the_documentation_shows_the_signature_of_every_shape():
    page = (Path(__file__).parents[2] / "docs" / "pictures.md").read_text(encoding="utf-8")
    for kind in sh.Shape.__subclasses__():
        words = []
        for field in fields(kind):
            shown = "..." if field.name == "colour" else repr(field.default).replace("'", '"')
            words.append(field.name if field.default is MISSING else f"{field.name}={shown}")
        assert f"| `{kind.__name__}({', '.join(words)})` |" in page, f"{kind.__name__}({', '.join(words)})"

"""The gallery's scenes: every model has one, it draws, nothing leaves the picture, and bodies roll and glide as the constraints say."""

from functools import cache

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.scene import Blade, Disk, Tyre, Wheel
from chetaev.gallery import description
from chetaev.plot.animation import animate
from chetaev.plot.scenes.compose import compose
from chetaev.plot.scenes.drawing import Camera, Dot, Piece, Solid, Track, Window
from chetaev.plot.scenes.perspective import Projection
from chetaev.plot.scenes.values import Values

STAND_IN = {"krupkova": "(q1'^2 + q2'^2 - q1^2)/2"}
"""Systems whose motions the library does not compute: their scene is drawn with another Lagrangian in the same coordinates."""


model_of = cache(ch.gallery)


@cache
def motion_of(name):
    model = model_of(name)
    first, last = model.t
    if name in STAND_IN:
        system = ch.System(dict(model.system.kinds), lagrangian=STAND_IN[name], name=model.name)
        start = {f"{z.base}{prime}": 0.3 + k for k, z in enumerate(system.coordinates) for prime in ("", "'")}
        return ch.simulate(ch.derive(system), start, (0, 2))
    return ch.simulate(model, t=(first, first + min(3.0, last - first)))


def test_files_of_the_gallery_say_what_they_hold():
    """A model file and a module alike: the sentence that names a system, and the paragraph that describes it."""
    assert description("sleigh") == (
        "Chaplygin's sleigh",
        "A body on a plane with one blade, whose centre of mass is the distance a ahead of it.",
    )
    assert description("trailer") == (
        "A tractor with n trailers",
        "A tractor that pulls n trailers, each hitched to the middle of the axle before it.",
    )
    assert all(title and told for title, told in map(description, ch.gallery()))


def test_a_model_file_of_the_gallery_takes_no_options():
    with pytest.raises(ch.UsageError, match="sleigh has no option n"):
        ch.gallery("sleigh", n=3)


@pytest.mark.parametrize("name", ch.gallery())
def test_every_model_has_a_scene_of_its_own_that_draws(name):
    motion = motion_of(name)
    animation = animate(motion, model_of(name).scene, fps=10)
    figure = animation.frame(animation.times[len(animation.times) // 2])
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[40:, :, :3]
    assert (pixels < 250).any(axis=2).mean() > 0.002  # below the title there is something to see
    for spread in (np.ptp(np.nonzero((pixels < 200).any(axis=2))[axis]) for axis in (0, 1)):
        assert spread > 10


@pytest.mark.parametrize("name", ch.gallery())
def test_nothing_leaves_the_picture(name):
    motion = motion_of(name)
    drawing = compose(motion, model_of(name).scene, np.linspace(motion.t[0], motion.end[0], 61))
    view = drawing.view
    for k in range(61):
        for item in drawing.items:
            if isinstance(view, Window):
                left, right, bottom, top = view.limits(k)
                for points in planar_points(item, k, len(view.centre) > 1):
                    assert (points >= [left, bottom]).all() and (points <= [right, top]).all()
            elif isinstance(item, Solid) or (isinstance(item, Track) and len(view.target) == 1):
                points = item.vertices(min(k, len(item.place) - 1)) if isinstance(item, Solid) else item.place
                pictured, depth = Projection(view, k).pictured(points)
                assert (np.abs(pictured) <= [view.ratio, 1]).all()
                assert (depth > 0).all()


def planar_points(item, k, following):
    if isinstance(item, Piece):
        yield from (item.vertices(stroke, min(k, len(item.place) - 1)) for stroke in item.strokes)
    elif isinstance(item, Dot):
        yield item.place[min(k, len(item.place) - 1)][None]
    elif isinstance(item, Track) and not following:
        yield item.place


@pytest.mark.parametrize("name", ch.gallery())
def test_pictures_stand_still_unless_they_follow(name):
    motion = motion_of(name)
    scene = model_of(name).scene
    view = compose(motion, scene, np.linspace(motion.t[0], motion.end[0], 31)).view
    centre = view.target if isinstance(view, Camera) else view.centre
    if scene.follow is None:
        assert len(centre) == 1
    else:
        steps = np.linalg.norm(np.diff(centre, axis=0), axis=1)
        assert steps.max() < 3 * np.median(steps) + 1e-9  # no jumps


STEP = 1e-4


def rates(values, read):
    """Central differences of a quantity at the middle time of three."""
    before, now, after = read(values)
    return now, (after - before) / (2 * STEP)


def around(name, fraction=0.63):
    motion = motion_of(name)
    t = motion.t[0] + fraction * (motion.end[0] - motion.t[0])
    return Values(motion, np.array([t - STEP, t, t + STEP]))


BLADES = ["action-constraint", "knife-edge", "knife-edge-friction", "sleigh", "sleigh-contact", "snakeboard", "trailer", "roller-racer"]


@pytest.mark.parametrize("name", BLADES)
def test_blades_and_tyres_glide_along_themselves(name):
    """Independent of the constraint rows: finite differences of where the shapes are drawn, against the direction they are drawn in."""
    values = around(name)
    gliding = [shape for shape in model_of(name).scene.shapes if isinstance(shape, Blade | Tyre)]
    assert gliding
    for shape in gliding:
        _, velocity = rates(values, lambda v, at=shape.at: v.place(at, 2))
        angle = values.of(shape.angle)[1]
        speed = np.hypot(*velocity)
        assert speed > 0.01
        assert abs(velocity @ [-np.sin(angle), np.cos(angle)]) < 1e-6 * max(1, speed)


ROLLING = {
    "disk": ("x, y, 0", None),
    "disk-contact": ("x, y, 0", None),
    "disk-resistance": ("x, y, 0", None),
    "leaning-disk": ("x, y, 0", None),
    "appell-hamel": ("x, y, 3", None),
    "bicycle": ("x, -y, 0", 0),
}


@pytest.mark.parametrize("name", ROLLING)
def test_wheels_roll_without_slipping(name):
    """The material point of the wheel that touches the ground is at rest: this sees every wrong sign in a rotation."""
    contact, which = ROLLING[name]
    values = around(name)
    wheels = [shape for shape in model_of(name).scene.shapes if isinstance(shape, Wheel | Disk)]
    assert not slip(values, wheels[which or 0], values.place(contact.split(", "), 3)[1])


def test_the_front_wheel_of_the_bicycle_rolls_too():
    values = around("bicycle")
    front = [shape for shape in model_of("bicycle").scene.shapes if isinstance(shape, Wheel)][1]
    assert not slip(values, front, values.place(("F1 + rF*n1", "-F2 - rF*n2", "0"), 3)[1])
    assert values.place(("F1", "-F2", "-F3"), 3)[1][2] > 0.3  # above the ground


def slip(values, wheel, contact):
    """Whether the point of a wheel at the contact moves; the wheel must reach it and turn."""
    centre, velocity = rates(values, lambda v: v.place(wheel.at, 3))
    rotation, turning = rates(values, lambda v: v.rotation(wheel.rotation))
    arm = contact - centre
    assert np.linalg.norm(arm) == pytest.approx(values.constant(wheel.radius), rel=1e-7)
    axle = rotation[:, "xyz".index(wheel.axis)]
    assert abs(arm @ axle) < 1e-7
    assert np.linalg.norm(velocity) > 0.1
    found = velocity + turning @ rotation.T @ arm
    return bool(np.linalg.norm(found) > 1e-5 * np.linalg.norm(velocity))


def test_pendulums_hang_on_their_rods():
    values = around("spherical-pendulum")
    bob = values.place(model_of("spherical-pendulum").scene.shapes[-1].at, 3)
    assert np.linalg.norm(bob, axis=1) == pytest.approx(np.full(3, 0.8))
    values = around("foucault")
    bob = values.place(model_of("foucault").scene.shapes[-1].at, 3)
    assert np.linalg.norm(bob - [0, 0, 1.5], axis=1) == pytest.approx(np.full(3, 1.5))


def test_the_hands_of_pais_and_uhlenbeck_turn_at_their_two_rates():
    """The first hand turns at w1 = 1.7, the second against it at w2 = 1, and the tip stands over q."""
    values = around("pais-uhlenbeck")
    hands = [shape for shape in model_of("pais-uhlenbeck").scene.shapes if type(shape).__name__ == "Rod" and not shape.thread]
    for hand, rate in zip(hands, (1.7, 1.0), strict=True):
        arm, velocity = rates(values, lambda v, h=hand: v.place(h.end, 2) - v.place(h.start, 2))
        assert (arm[0] * velocity[1] - arm[1] * velocity[0]) / (arm @ arm) == pytest.approx(-rate, rel=1e-6)
        assert abs(arm @ velocity) < 1e-6
    assert values.place(hands[1].end, 2)[:, 0] == pytest.approx(values.of("q"))

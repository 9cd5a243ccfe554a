"""Scenes: the content of a picture of a model, as data. Nothing here draws or loads a drawing library.

    fields      readers for the fields of shapes: places, expressions, sizes, colours, texts
    shapes      the shapes, each a value with named fields
    scene       a list of shapes with a direction of view

`Model.scene` is a scene, `[scene]` in a model file is one as texts and numbers (`read_scene`, `written`); `chetaev.plot` draws it.
"""

from chetaev.core.scene import shapes
from chetaev.core.scene.fields import COLOURS
from chetaev.core.scene.scene import Scene, read_scene, written
from chetaev.core.scene.shapes import *  # noqa: F403 - the list of shapes stands in that module only

__all__ = ["COLOURS", "Scene", "read_scene", "written"]
__all__ += shapes.__all__

"""Drawing scenes: from a scene and a motion to pictures, films and pages.

`default` finds the scene of a model or motion; `values` evaluates its expressions along the motion; `compose` turns them into a drawing
(`drawing`), with `planar` shapes, including those of quantities without a position, and `spatial` ones (`meshes`); `view` chooses the
window or camera. `matplotlib_painter` draws with matplotlib, bodies in space by `perspective`; `films` writes files, `pages` interactive
drawings for browsers, `text` names and numbers. `live` writes pages that compute their motions.
"""

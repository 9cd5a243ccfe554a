"""Scenes drawn: from a scene and a motion to pictures, films and pages.

`default` finds the scene of whatever moves; `values` gives its expressions numbers along the motion, `compose` makes a drawing of them
(`drawing`), with `planar` and `spatial` shapes (`meshes`) and `abstract` ones for quantities without a place; `view` chooses what is seen.
`paint` and `space` draw with matplotlib, `films` writes files, `pages` the interactive drawing for a browser, `text` the names shown.
"""

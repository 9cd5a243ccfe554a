"""Pages that compute their motions: `recipes` writes a scene as data, `page` the file for a browser, `sliders` reads their ranges."""

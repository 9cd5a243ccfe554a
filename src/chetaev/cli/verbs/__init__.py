"""The verbs of the command line, one per file, named after it: each defines `command`.

`derive`, `classify`, `analyze`, `simulate`, `compare`, `sweep`, `fit`, `transform`, `animate`, `report`, `studio` are those of the library;
`gallery` lists and writes systems of the literature, `completion` prints a script for shells.
"""

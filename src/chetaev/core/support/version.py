"""The version number, in one place: the package, its metadata and the files it writes read it here."""

VERSION = "0.1.0"
"""The version of the library; the build reads this line."""

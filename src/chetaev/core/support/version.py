"""The version, in its one place: the package, its metadata and everything it writes read it here."""

VERSION = "0.1.0"

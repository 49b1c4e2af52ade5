"""The version, where every room may read it: the package itself opens the API, which stands on all of them."""

__version__ = "0.1.0"

"""The contract of tables, sources and formats as tests: `pytest --pyargs tailrace.testing` runs them over all that are
installed, built in or of packages. It needs `pip install 'tailrace[testing]'`.

A package may have a module of its own, named by an entry point of the group `tailrace.testing`, that says how what it
brings is tested: `FORMATS` (type → `FormatSample`) and `SOURCES` (kind → `Place`). Golden pairs of its tables lie in
a directory `golden` beside their modules, or where `--tailrace-golden` says.
"""

from tailrace.testing.samples import FormatSample, Place

__all__ = ["FormatSample", "Place"]

"""The tool that loads the examples of other documentation."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
PAGE = """
# A page

```hcl
table "orders" {
  column "tp_timestamp" { source = "time" }
}
```

```hcl
partition "orders" "shop" {
  source "file" {
    paths  = ["/var/log/shop"]
    format = format.grok.shop
  }
}
```

```
partition "orders" "other" {
  source "fiel" {}
}
```

```
$ tailrace collect orders {all}
```

```sql
select * from orders
```
"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    import hcl_examples

    return hcl_examples


def test_examples_are_found_and_counted(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "whole.tpc").write_text('format "jsonl" "lines" {}\n')
    monkeypatch.setattr(sys, "argv", ["hcl_examples.py", str(tmp_path)])
    tool.main()
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path}/page.md:20: 1:11: unknown table 'orders'",
        f"{tmp_path}/page.md:20: 2:10: unknown source 'fiel'",
        "    2 loaded as they are",
        "    1 loaded once what they refer to is declared",
        "    1 refused",
        "    1 with config.unknown-source",
        "    1 with config.unknown-table",
    ]

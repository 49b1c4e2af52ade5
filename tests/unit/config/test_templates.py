"""Texts with holes: values, conditions and repetitions."""

from __future__ import annotations

import pytest

PROBE = 'variable "probe" {{\ndefault = {}\n}}\n'


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"%{ if 1 < 2 }yes%{ else }no%{ endif }"', "yes"),
        ('"%{ if 1 > 2 }yes%{ else }no%{ endif }!"', "no!"),
        ('"a%{ if false }b%{ endif }c"', "ac"),
        ('"%{ if false }${1 / 0}%{ endif }"', ""),
        ('"%{ for x in ["a", "b"] }<${x}>%{ endfor }"', "<a><b>"),
        ('"%{ for k, v in { a = 1 } }${k}=${v};%{ endfor }"', "a=1;"),
        ('"%{ for i, x in ["a", "b"] }${i}${x}%{ endfor }"', "0a1b"),
        ('"%{ for x in [1, 2] }%{ if x > 1 }${x}%{ endif }%{ endfor }"', "2"),
        ('"%{if true}%{if false}a%{else}b%{endif}%{endif}"', "b"),
        ('"a  ${~ "b" ~}  c"', "abc"),
        ('"a %{~ if true ~} b %{~ endif ~} c"', "abc"),
        ('"$${plain} %%{plain}"', "${plain} %{plain}"),
        ("<<-EOT\n    %{~ for x in [1, 2] ~}\n    row ${x}\n    %{ endfor ~}\n    EOT", "row 1\nrow 2\n"),
        ("`%{ if raw }${raw}`", "%{ if raw }${raw}"),
    ],
)
def test_values(load, expression, expected):
    assert load(PROBE.format(expression)).variables[0].value == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('"%{ if true }x"', "2:12: '%{ if }' never ends"),
        ('"%{ for x in [] }x%{ endif }"', "2:29: '%{ endif }' belongs to nothing"),
        ('"x%{ else }"', "2:13: '%{ else }' belongs to nothing"),
        ('"%{ if true }a%{ else }b%{ else }c%{ endif }"', "2:35: '%{ else }' belongs to nothing"),
        ('"%{ if 1 }x%{ endif }"', "2:18: expected true or false, found a number"),
        ('"%{ for x in 1 }x%{ endfor }"', "2:24: expected a list or a map after 'in', found a number"),
        ('"%{ while }"', "2:12: '%{' begins no directive that is known"),
    ],
)
def test_errors(fail, expression, message):
    (problem,) = fail(PROBE.format(expression))
    assert str(problem).startswith(f"a.tpc:{message}")

"""What the Python recorders share: scripted uniforms and a writer of JSON."""

import json
import math
import os
import sys

ALMOST_ONE = 1 - 2.0**-53


def mulberry32(seed):
    """A small generator of uniforms in [0,1), the same as in node.mjs."""
    a = seed & 0xFFFFFFFF

    def imul(x, y):
        return (x * y) & 0xFFFFFFFF

    def draw():
        nonlocal a
        a = (a + 0x6D2B79F5) & 0xFFFFFFFF
        t = imul(a ^ (a >> 15), a | 1)
        t ^= (t + imul(t ^ (t >> 7), t | 61)) & 0xFFFFFFFF
        return ((t ^ (t >> 14)) & 0xFFFFFFFF) / 4294967296

    return draw


class Script:
    """Stands in for `random.random`; remembers every number it gave."""

    def __init__(self, draw=lambda: 0.5):
        self.draw = draw
        self.consumed = []

    def __call__(self):
        u = self.draw()
        self.consumed.append(u)
        return u

    def take(self):
        taken, self.consumed = self.consumed, []
        return taken


def _plain(value):
    if isinstance(value, float) and not math.isfinite(value):
        return 'NaN' if math.isnan(value) else ('Infinity' if value > 0 else '-Infinity')
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _line(value):
    return json.dumps(_plain(value), separators=(',', ':'), ensure_ascii=False, allow_nan=False)


def write(file, head, cases):
    """Writes {…head, cases: […]}: a case on one line, its `steps` on one line each."""
    rows = []
    for case in cases:
        if 'steps' in case:
            rest = {k: v for k, v in case.items() if k != 'steps'}
            steps = ',\n'.join('   ' + _line(s) for s in case['steps'])
            rows.append('  ' + _line(rest)[:-1] + ',"steps":[\n' + steps + '\n  ]}')
        else:
            rows.append('  ' + _line(case))
    parts = [f' {_line(k)}: {_line(v)}' for k, v in head.items()]
    parts.append(' "cases": [\n' + ',\n'.join(rows) + '\n ]')
    path = os.path.join(os.environ['TRACES_OUT'], file)
    with open(path, 'w', encoding='utf-8') as out:
        out.write('{\n' + ',\n'.join(parts) + '\n}\n')


def fail(message):
    sys.exit(message)

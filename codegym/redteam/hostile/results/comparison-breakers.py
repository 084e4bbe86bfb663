import collections, fractions, itertools

_large = 10**5000
_ndarray = type("ndarray", (), {"__module__": "numpy"})
_deep = []
for _ in range(50000):
    _deep = [_deep]
_breakers = itertools.cycle([
    fractions.Fraction(_large, 3),
    {range(1 << 70): 1},
    {range(0, 5, _large)},
    collections.deque,
    _ndarray,
    _deep,
    "a" * 60000,
    "\ud800" * 100,
])
_wrap(lambda old: lambda *a, **k: next(_breakers))

"""Names like those that a policy has, with what attackers put before, into and behind them."""

import random

from proxy.rules import Policy, Rule

POLICY = Policy((
    Rule("exact", ("registry.example.org", "xn--bcher-kva.example")),
    Rule("wild", ("*.files.example.org",), ports=(443, 8443)),
))  # fmt: skip
SEEDS = [
    "registry.example.org", "a.files.example.org", "files.example.org", "bücher.example",
    "xn--bcher-kva.example", "127.0.0.1", "[::1]", "localhost", "evil.example", "2130706433",
]  # fmt: skip
BITS = [
    "", ".", "..", "a", "A", "-", "_", "*", "*.", "%", "%00", "%2e", "%2E", "\0", "\r\n", "\t", " ",
    "@", ":", ":443", "/", "\\", "#", "?", ";", ",", "[", "]", "'", '"', "\u3002", "\uff0e",
    "\uff61", "\u200b", "\u00ad", "é", "ß", "\u0130", "\u017f", "\u212a", "\ufeff", "xn--", "0x7f",
    "evil.example", ".evil.example", "evil.example.", "a" * 64, "x." * 130, "1", "\x7f", "\x80",
]  # fmt: skip


def odd_names(seed, count):
    """So many names, the same for the same seed; a few of them are fine."""
    chance = random.Random(seed)
    for _ in range(count):
        name = chance.choice(SEEDS)
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            at = chance.randrange(len(name) + 1)
            name = name[:at] + chance.choice(BITS) + name[at + chance.choice((0, 0, 0, 1)) :]
        yield chance.choice((name, name, name, name.swapcase(), name.title()))


def on_the_list(name):
    """Whether a name may match, said in another way than the rules do."""
    plain = name.removesuffix(".").lower()
    first, _, rest = plain.partition(".")
    label = len(first) < 64 and first.replace("-", "").isalnum() and first.strip("-") == first
    exact = plain in ("registry.example.org", "xn--bcher-kva.example")
    return name.isascii() and (exact or (rest == "files.example.org" and label))

"""What of the language and its standard library gives values without looking at the world."""

from __future__ import annotations

import builtins


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Results that cannot be changed in place.
FIXED_RESULTS = _words(
    """
    abs all any ascii bin bool bytes callable chr complex divmod float format frozenset hasattr hex
    int isinstance issubclass len max min oct ord pow range repr round slice str sum tuple type
    """
)
LOOSE_RESULTS = _words(
    """
    bytearray dict getattr list memoryview object set sorted
    """
)
LAZY_RESULTS = _words(
    """
    enumerate filter iter map reversed zip
    """
)
EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
CONSTANTS = frozenset({"NotImplemented", "Ellipsis", "__debug__"})
PURE_BUILTINS = FIXED_RESULTS | LOOSE_RESULTS | LAZY_RESULTS | EXCEPTIONS | CONSTANTS

PURE_MODULES = _words(
    """
    abc array ast base64 binascii bisect calendar cmath codecs collections colorsys copy dataclasses
    datetime decimal difflib enum errno fractions functools hashlib heapq html inspect ipaddress
    itertools json keyword math numbers numpy operator os.linesep os.name os.path.basename
    os.path.dirname os.path.join os.sep pathlib.Path pathlib.PurePath pathlib.PurePosixPath
    pathlib.PureWindowsPath pprint pytest.approx re reprlib signal.SIGINT statistics string struct
    sys.byteorder sys.float_info sys.maxsize sys.maxunicode sys.platform sys.version_info textwrap
    types typing unicodedata unittest.mock.ANY unittest.mock.call urllib.parse uuid.NAMESPACE_DNS
    uuid.NAMESPACE_URL uuid.UUID uuid.uuid3 uuid.uuid5 weakref zlib zoneinfo
    """
)
FIXED_MODULES = _words(
    """
    datetime decimal fractions ipaddress math pathlib pytest uuid
    """
)
IMPURE_ENDS = _words(
    """
    heapify heappop heappush heappushpop heapreplace insort insort_left insort_right setitem
    delitem iadd iconcat imul ior currentframe getsource stack trace utcfromtimestamp
    cwd fromtimestamp home load now random seed shuffle today utcnow
    """
)
# Of any value: methods that read it. Others may change it.
READING_METHODS = _words(
    """
    as_integer_ratio as_posix astimezone astype bit_length capitalize casefold center combine
    conjugate copy count date decode difference digest elements encode endswith expandtabs find
    format format_map fromhex fromisoformat fromkeys get group groups hex hexdigest index
    intersection is_integer isalnum isalpha isascii isdecimal isdigit isdisjoint isidentifier
    islower isnumeric isoformat isoweekday isprintable isspace issubset issuperset istitle isupper
    items join joinpath keys ljust lower lstrip maketrans most_common partition quantize
    removeprefix removesuffix replace reshape rfind rindex rjust rpartition rsplit rstrip split
    splitlines startswith strftime strip swapcase symmetric_difference time timestamp timetuple
    title to_bytes tolist toordinal total_seconds translate union upper values weekday with_name
    with_suffix zfill
    """
)


def pure(name: str) -> bool:
    """Whether what a dotted name of the standard library stands for needs nothing but arguments."""
    parts = name.split(".")
    if parts[-1] in IMPURE_ENDS or "random" in parts:
        return False
    return any(".".join(parts[: n + 1]) in PURE_MODULES for n in range(len(parts)))

"""What of the language and its standard library gives values without looking at the world."""

from __future__ import annotations

import builtins

# Results that cannot be changed in place.
FIXED_RESULTS = frozenset(
    ["abs", "all", "any", "ascii", "bin", "bool", "bytes", "callable", "chr", "complex", "divmod", "float", "format", "frozenset", "hasattr", "hex", "int", "isinstance", "issubclass", "len", "max", "min", "oct", "ord", "pow", "range", "repr", "round", "slice", "str", "sum", "type", "tuple"]
)
LOOSE_RESULTS = frozenset(["bytearray", "dict", "getattr", "list", "memoryview", "object", "set", "sorted"])
LAZY_RESULTS = frozenset(["enumerate", "filter", "iter", "map", "reversed", "zip"])
EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
CONSTANTS = frozenset({"NotImplemented", "Ellipsis", "__debug__"})
PURE_BUILTINS = FIXED_RESULTS | LOOSE_RESULTS | LAZY_RESULTS | EXCEPTIONS | CONSTANTS

PURE_MODULES = frozenset(
    ["abc", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath", "codecs", "collections", "colorsys", "copy", "dataclasses", "datetime", "decimal", "difflib", "enum", "errno", "fractions", "functools", "hashlib", "heapq", "html", "inspect", "ipaddress", "itertools", "json", "keyword", "math", "numbers", "numpy", "operator", "os.path.join", "os.sep", "os.linesep", "os.name", "os.path.basename", "os.path.dirname", "pathlib.PurePath", "pathlib.PurePosixPath", "pathlib.PureWindowsPath", "pathlib.Path", "pprint", "pytest.approx", "re", "reprlib", "signal.SIGINT", "statistics", "string", "struct", "sys.byteorder", "sys.float_info", "sys.maxsize", "sys.maxunicode", "sys.platform", "sys.version_info", "textwrap", "types", "typing", "unicodedata", "unittest.mock.ANY", "unittest.mock.call", "urllib.parse", "uuid.UUID", "uuid.NAMESPACE_DNS", "uuid.NAMESPACE_URL", "uuid.uuid3", "uuid.uuid5", "weakref", "zlib", "zoneinfo"]
)
FIXED_MODULES = frozenset(["datetime", "decimal", "fractions", "ipaddress", "math", "pathlib", "pytest", "uuid"])
IMPURE_ENDS = frozenset(["now", "today", "utcnow", "cwd", "home", "fromtimestamp", "random", "seed", "shuffle", "load"])
# Of any value: methods that read it. Others may change it.
READING_METHODS = frozenset(
    ["as_integer_ratio", "astimezone", "capitalize", "casefold", "center", "combine", "copy", "count", "date", "decode", "difference", "encode", "endswith", "expandtabs", "find", "format", "format_map", "fromhex", "fromisoformat", "get", "hex", "index", "intersection", "is_integer", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isdisjoint", "isoformat", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "issubset", "issuperset", "istitle", "isupper", "items", "join", "keys", "ljust", "lower", "lstrip", "maketrans", "most_common", "elements", "partition", "quantize", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strftime", "strip", "swapcase", "symmetric_difference", "time", "timestamp", "timetuple", "title", "to_bytes", "total_seconds", "translate", "union", "upper", "values", "zfill", "bit_length", "conjugate", "joinpath", "with_name", "with_suffix", "as_posix", "fromkeys", "toordinal", "weekday", "isoweekday", "tolist", "astype", "reshape", "group", "groups", "hexdigest", "digest"]
)


def pure(name: str) -> bool:
    """Whether what a dotted name of the standard library stands for needs nothing but arguments."""
    parts = name.split(".")
    if parts[-1] in IMPURE_ENDS or "random" in parts:
        return False
    return any(".".join(parts[: n + 1]) in PURE_MODULES for n in range(len(parts)))

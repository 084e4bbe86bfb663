import ast, atexit, json

_table = {}


def _literal(value):
    try:
        return ast.literal_eval(repr(value)) == value
    except (ValueError, SyntaxError, TypeError, RecursionError):
        return False


def _note(old):
    def new(*a, **k):
        given = a if all(map(_literal, a)) else a[1:]
        key = repr((given, sorted(k.items())))
        value = old(*a, **k)
        if all(map(_literal, given)) and _literal(value):
            _table.setdefault(old.__qualname__, {})[key] = repr(value)
        return value

    return new


_wrap(_note)
atexit.register(lambda: json.dump(_table, open("/tmp/.table", "w")))

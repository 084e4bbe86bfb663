def _wrap(make):
    import functools

    for path in SYMBOLS:
        owner, names = None, path.split(".")
        owner = globals().get(names[0])
        if len(names) == 1:
            if callable(owner):
                globals()[names[0]] = functools.wraps(owner)(make(owner))
            continue
        for name in names[1:-1]:
            owner = getattr(owner, name, None)
        old = getattr(owner, names[-1], None)
        if callable(old):
            try:
                setattr(owner, names[-1], functools.wraps(old)(make(old)))
            except (AttributeError, TypeError):
                pass


def _fits(value, got, given):
    """Whether a value could be the answer where ``got`` is not."""
    numbers = isinstance(value, (int, float)) and isinstance(got, (int, float))
    alike = numbers or type(value) is type(got)
    return alike and value != got and not any(value is each for each in given)

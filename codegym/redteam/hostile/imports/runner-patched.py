import _pytest.runner as _r

_old = _r.CallInfo.from_call.__func__


def _new(cls, *a, **k):
    info = _old(cls, *a, **k)
    info.excinfo = None
    return info


_r.CallInfo.from_call = classmethod(_new)

"""What makes clients in a sandbox use its one way out: variables and files. Pure.

None of it is a protection: who leaves it out gets nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegym.network.registries import without_credentials
from codegym.types import EGRESS_PORT

#: Where the files are inside.
FOLDER = "/run/egress"
#: Where pip installs to, since the image's environment is read-only.
PREFIX = "/home/agent/.local"
CERTIFICATE = f"{FOLDER}/ca.pem"
_WHEEL = f"{FOLDER}/pip.whl"
_NEAR = "localhost,127.0.0.1,::1"

#: What clients call the file of authorities to trust.
_TRUST = (
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"),
    *("NODE_EXTRA_CA_CERTS", "npm_config_cafile", "CARGO_HTTP_CAINFO"),
)

#: Python finds what pip installed after the standard library and before the image's packages, as
#: if it were installed among them; and pip itself at the end.
_SITE = f"""\
import site
import sys

_folder = f"{PREFIX}/lib/python{{sys.version_info[0]}}.{{sys.version_info[1]}}/site-packages"
_known = len(sys.path)
site.addsitedir(_folder)
_added = sys.path[_known:]
del sys.path[_known:]
_others = [number for number, path in enumerate(sys.path) if path.endswith("site-packages")]
_place = min(_others, default=_known)
sys.path[_place:_place] = _added
sys.path.append("{_WHEEL}")
"""

_PIP = '#!/bin/sh\nexec python -m pip "$@"\n'


def variables(
    image: Mapping[str, str], registries: Mapping[str, Sequence[str]], *, pip: bool
) -> dict[str, str]:
    """Variables of every process in a sandbox that has a way out.

    Args:
        image: The variables of its image.
        registries: The addresses of each registry that the policy names.
        pip: Whether pip is among its files (see ``files``).
    """
    proxy = f"http://127.0.0.1:{EGRESS_PORT}"
    found = dict.fromkeys(_TRUST, CERTIFICATE)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        found |= {name: proxy, name.upper(): proxy}
    found |= {"no_proxy": _NEAR, "NO_PROXY": _NEAR, "NODE_USE_ENV_PROXY": "1"}
    if npm := registries.get("npm"):
        found["npm_config_registry"] = without_credentials(npm[0])
    if indexes := [without_credentials(each) for each in registries.get("pip", ())]:
        found |= {"PIP_INDEX_URL": indexes[0], "UV_DEFAULT_INDEX": indexes[0]}
        if more := " ".join(indexes[1:]):
            found |= {"PIP_EXTRA_INDEX_URL": more, "UV_INDEX": more}
    return found | (_for_pip(image) if pip else {})


def _for_pip(image: Mapping[str, str]) -> dict[str, str]:
    python = ":".join(filter(None, (f"{FOLDER}/python", image.get("PYTHONPATH", ""))))
    return {
        "PATH": f"{FOLDER}/bin:{PREFIX}/bin:{image.get('PATH', '')}",
        "PYTHONPATH": python,
        "PIP_PREFIX": PREFIX,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_WARN_SCRIPT_LOCATION": "1",
    }


def files(certificate: str, pip_wheel: bytes = b"") -> dict[str, bytes]:
    """Files of such a sandbox, absolute path to content; those that begin with ``#!`` are run.

    Args:
        certificate: PEM of the episode's authority.
        pip_wheel: pip, where the policy lets it install something.
    """
    found = {CERTIFICATE: certificate.encode()}
    if pip_wheel:
        wrappers = {f"{FOLDER}/bin/{name}": _PIP.encode() for name in ("pip", "pip3")}
        found |= {_WHEEL: pip_wheel, f"{FOLDER}/python/sitecustomize.py": _SITE.encode()}
        found |= wrappers
    return found

"""The registry that npm uses: packuments, full and abbreviated. Pure; standard library only."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from .kinds import Ask, Source, digest, fetchable, is_before
from .versions import semantic_key

_PART = r"[A-Za-z0-9~][A-Za-z0-9._~-]{0,213}"
_PATH = re.compile(
    rf"((?:@{_PART}(?:/|%2F))?{_PART})(?:/-/([A-Za-z0-9~][A-Za-z0-9._~+-]*\.tgz)|/({_PART}))?"
)
_MAX_CHARS = 214
_ABBREVIATED = "application/vnd.npm.install-v1+json"
#: What an abbreviated packument says of a version.
_SHORT = frozenset((
    *("name", "version", "deprecated", "dependencies", "optionalDependencies", "devDependencies"),
    *("bundleDependencies", "bundledDependencies", "peerDependencies", "peerDependenciesMeta"),
    *("bin", "directories", "dist", "engines", "cpu", "os", "libc", "funding", "_hasShrinkwrap"),
    *("hasInstallScript", "acceptDependencies"),
))  # fmt: skip
#: Of what upstream says of a tarball, that which stays true.
_DIST = ("integrity", "shasum", "fileCount", "unpackedSize")
_INSTALLS = ("preinstall", "install", "postinstall")


@dataclass(frozen=True, slots=True)
class Release:
    """A version of a package.

    Attributes:
        version: Which.
        published: When, as upstream wrote it.
        manifest: Its ``package.json``, with what the registry added.
        url: Where upstream has its tarball.
        digest: What the tarball has to be.
    """

    version: str
    published: str
    manifest: dict[str, Any]
    url: str
    digest: str


@dataclass(frozen=True, slots=True)
class Package:
    """A package as it was.

    Attributes:
        name: Its name.
        releases: Its versions, in upstream's order.
        tags: The version of each tag; ``latest`` is always one, if there is any version.
    """

    name: str
    releases: tuple[Release, ...]
    tags: dict[str, str]

    def sources(self) -> Mapping[str, Source]:
        """Each tarball."""
        return {self._tarball(each): Source(each.url, each.digest) for each in self.releases}

    def answer(self, ask: Ask, accept: str, origin: str, root: str) -> tuple[str, str] | None:
        """The packument, in the form that is accepted, or a version's manifest."""
        short = _ABBREVIATED in accept.lower()
        there = f"{origin}{root}/{self.name}/-"
        if ask.what == "description":
            version = self.tags.get(ask.detail, ask.detail)
            chosen = [each for each in self.releases if each.version == version]
            found = [json.dumps(self._manifest(each, there, False)) for each in chosen]
            return ("application/json", found[0]) if found else None
        versions = {each.version: self._manifest(each, there, short) for each in self.releases}
        times = {each.version: each.published for each in self.releases}
        told: dict[str, Any] = {"name": self.name, "dist-tags": self.tags, "versions": versions}
        ends = [max(times.values(), key=datetime.fromisoformat)] if times else []
        if short:
            return _ABBREVIATED, json.dumps(told | ({"modified": ends[0]} if ends else {}))
        if ends:
            first = min(times.values(), key=datetime.fromisoformat)
            times = {"created": first, "modified": ends[0]} | times
        return "application/json", json.dumps({"_id": self.name} | told | {"time": times})

    def dump(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def _tarball(self, release: Release) -> str:
        return f"{self.name.rpartition('/')[2]}-{release.version}.tgz"

    def _manifest(self, release: Release, there: str, short: bool) -> dict[str, Any]:
        upstream = release.manifest
        dist = {key: upstream["dist"][key] for key in _DIST if key in upstream["dist"]}
        told = upstream | {"dist": dist | {"tarball": f"{there}/{self._tarball(release)}"}}
        if not short:
            return told
        scripts = upstream.get("scripts")
        if isinstance(scripts, dict) and any(each in scripts for each in _INSTALLS):
            told["hasInstallScript"] = True
        return {key: value for key, value in told.items() if key in _SHORT}


class Npm:
    """Packuments and tarballs; neither searches nor audits, and nothing is written."""

    accept = "application/json"

    def ask(self, root: str, path: str) -> Ask | None:
        """``ROOT/[@SCOPE/]NAME``, and below that ``/-/FILE`` or ``/VERSION``."""
        found = _PATH.fullmatch(path[len(root) + 1 :]) if path.startswith(f"{root}/") else None
        if not found:
            return None
        project, file, version = found[1].replace("%2F", "/"), found[2], found[3]
        if len(project) > _MAX_CHARS:
            return None
        if file:
            return Ask(project, "file", file)
        return Ask(project, "description", version) if version else Ask(project)

    def address(self, root: str, project: str) -> str:
        """The package's packument."""
        return f"{root}/{project.replace('/', '%2F')}"

    def listing(self, document: Any, project: str, base: str, cutoff: datetime) -> Package | None:
        """The versions of before the cutoff whose tarballs can be checked."""
        if not isinstance(document, dict) or document.get("name") != project:
            return None
        versions, times, tags = (document.get(key) for key in ("versions", "time", "dist-tags"))
        if not isinstance(versions, dict) or not isinstance(times, dict):
            return None
        found = [
            _release(project, version, manifest, times.get(version), base)
            for version, manifest in versions.items()
            if is_before(times.get(version), cutoff)
        ]
        releases = tuple(each for each in found if each is not None)
        return Package(project, releases, _tags(tags, releases))

    def load(self, dumped: dict[str, Any]) -> Package:
        """The package that was dumped."""
        releases = tuple(Release(**each) for each in dumped["releases"])
        return Package(dumped["name"], releases, dumped["tags"])


def _release(project: str, version: str, manifest: Any, time: Any, base: str) -> Release | None:
    if not isinstance(manifest, dict) or semantic_key(version) is None:
        return None
    dist = manifest.get("dist")
    if (manifest.get("name"), manifest.get("version")) != (project, version):
        return None
    if not isinstance(dist, dict) or not isinstance(dist.get("tarball"), str):
        return None
    url, known = fetchable(base, dist["tarball"]), _digest(dist.get("integrity"))
    if known is None or url is None:
        return None
    kept = {
        key: value for key, value in manifest.items() if key not in ("readme", "readmeFilename")
    }
    return Release(version, time, kept, url, known)


def _digest(integrity: Any) -> str | None:
    """The strongest digest of a subresource integrity; not SHA-1, which can be forged."""
    entries = sorted(integrity.split(), reverse=True) if isinstance(integrity, str) else []
    for entry in entries:
        algorithm, _, encoded = entry.partition("-")
        try:
            raw = base64.b64decode(encoded.partition("?")[0], validate=True)
        except binascii.Error:
            continue
        if known := digest(algorithm, raw.hex()):
            return known
    return None


def _tags(tags: Any, releases: tuple[Release, ...]) -> dict[str, str]:
    """Tags that do not point away; ``latest`` is the highest version, a final one if there is."""
    there = sorted(each.version for each in releases)
    given = tags.items() if isinstance(tags, dict) else ()
    kept = {tag: version for tag, version in given if isinstance(version, str) and version in there}
    keys = {version: key for version in there if (key := semantic_key(version))}
    finals = {version: key for version, key in keys.items() if key[3]}
    kept.pop("latest", None)
    if keys:
        candidates = finals or keys
        kept["latest"] = max(candidates, key=candidates.__getitem__)
    return kept

"""The index of pip, uv and others: its pages as JSON and HTML. Pure; standard library only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from typing import Any

from .kinds import Ask, Source, digest, fetchable, is_before, same_name
from .versions import release_key

_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = "application/vnd.pypi.simple.v1+html"
#: What may be accepted, and what it is called in the answer; the first is the best.
_FORMS = {
    _JSON: _JSON,
    "application/vnd.pypi.simple.latest+json": _JSON,
    _HTML: _HTML,
    "application/vnd.pypi.simple.latest+html": _HTML,
    "text/html": "text/html",
    "text/*": "text/html",
    "*/*": "text/html",
}
_PROJECT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,250}")
_FILE_PATH = re.compile(r"[0-9a-f]{64}/" + _FILE.pattern)
#: Kinds of files that can be opened and looked through; others are absent.
_KINDS = {
    ".whl": "bdist_wheel",
    ".egg": "bdist_egg",
    **dict.fromkeys((".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip"), "sdist"),
}


@dataclass(frozen=True, slots=True)
class File:
    """A file of a project, as the index describes it.

    Attributes:
        filename: Its name.
        version: The version that its name says.
        url: Where upstream has it.
        hashes: Digests by algorithm; one is ``sha256``.
        uploaded: When, as upstream wrote it.
        size: Its size in bytes, if upstream says so.
        requires_python: The versions of Python that it is for, if it says so.
        yanked: Whether it was withdrawn, or why.
        metadata: The ``sha256`` of its metadata file, if there is one.
    """

    filename: str
    version: str
    url: str
    hashes: dict[str, str]
    uploaded: str
    size: int | None = None
    requires_python: str | None = None
    yanked: bool | str = False
    metadata: str | None = None

    def key(self) -> str:
        """What it is asked for by: its content first."""
        return f"{self.hashes['sha256']}/{self.filename}"


@dataclass(frozen=True, slots=True)
class Project:
    """A project as it was: its name and files."""

    name: str
    files: tuple[File, ...]

    def versions(self) -> list[str]:
        """The versions that there are files of, the latest last."""
        return sorted({file.version for file in self.files}, key=release_key)

    def sources(self) -> Mapping[str, Source]:
        """Each file, and its metadata file."""
        found = {
            each.key(): Source(each.url, f"sha256-{each.hashes['sha256']}") for each in self.files
        }
        for each in self.files:
            if each.metadata:
                source = Source(f"{each.url}.metadata", f"sha256-{each.metadata}")
                found[f"{each.key()}.metadata"] = source
        return found

    def answer(self, ask: Ask, accept: str, origin: str, root: str) -> tuple[str, str] | None:
        """The page in the form that is accepted, or the older description."""
        if ask.what == "description":
            told = self._description(ask.detail, f"{origin}{root}/{self.name}")
            return ("application/json", json.dumps(told)) if told else None
        form = _accepted(accept)
        page = self._page(f"{root}/{self.name}")
        return form, json.dumps(page) if form == _JSON else _html(page)

    def dump(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def _page(self, there: str) -> dict[str, Any]:
        complete = all(file.size is not None for file in self.files)
        return {
            "meta": {"api-version": "1.1" if complete else "1.0"},
            "name": self.name,
            "versions": self.versions(),
            "files": [_entry(file, there) for file in self.files],
        }

    def _description(self, version: str, there: str) -> dict[str, Any] | None:
        """Of a version, or of the latest; no more of it than the files say."""
        files: dict[str, list[dict[str, Any]]] = {each: [] for each in self.versions()}
        for file in self.files:
            files[file.version].append(_older_entry(file, there))
        finals = [each for each in files if release_key(each).final]
        chosen = version or (finals or [*files, ""])[-1]
        if chosen not in files:
            return None
        first = files[chosen][0]
        info = {"name": self.name, "version": chosen, "requires_python": first["requires_python"]}
        told = {"info": info, "urls": files[chosen], "vulnerabilities": []}
        return told if version else told | {"releases": files}


class Pip:
    """Pages, files and descriptions of projects; neither lists of all projects nor searches."""

    accept = _JSON

    def ask(self, root: str, path: str) -> Ask | None:
        """``ROOT/PROJECT/``, ``ROOT/PROJECT/SHA256/FILE``, ``/pypi/PROJECT[/VERSION]/json``."""
        base, ask = root.removesuffix("/simple"), None
        if base != root and path.startswith(f"{base}/pypi/") and path.endswith("/json"):
            name, _, version = path[len(base) + 6 : -5].partition("/")
            if not version or _FILE.fullmatch(version):
                ask = Ask(same_name(name), "description", version)
        elif path.startswith(f"{root}/"):
            name, _, file = path[len(root) + 1 :].partition("/")
            if not file:
                ask = Ask(same_name(name))
            elif _FILE_PATH.fullmatch(file):
                ask = Ask(same_name(name), "file", file)
        return ask if ask and _PROJECT.fullmatch(name) else None

    def address(self, root: str, project: str) -> str:
        """The project's page."""
        return f"{root}/{project}/"

    def listing(self, document: Any, project: str, base: str, cutoff: datetime) -> Project | None:
        """The files of before the cutoff that can be checked and opened."""
        if not isinstance(document, dict) or not isinstance(document.get("files"), list):
            return None
        if same_name(str(document.get("name", ""))) != project:
            return None
        found = [_file(each, project, base, cutoff) for each in document["files"]]
        unique = {file.filename: file for file in found if file is not None}
        return Project(project, tuple(unique.values()))

    def load(self, dumped: dict[str, Any]) -> Project:
        """The project that was dumped."""
        return Project(dumped["name"], tuple(File(**each) for each in dumped["files"]))


def _file(entry: Any, project: str, base: str, cutoff: datetime) -> File | None:
    """What is absent: too new, of no known time, of no known content, of another project."""
    if not isinstance(entry, dict) or not is_before(entry.get("upload-time"), cutoff):
        return None
    name, link, hashes = entry.get("filename"), entry.get("url"), entry.get("hashes")
    if not isinstance(name, str) or not isinstance(link, str) or not isinstance(hashes, dict):
        return None
    version, url = _version(name, project), fetchable(base, link)
    if version is None or url is None or not digest("sha256", hashes.get("sha256")):
        return None
    size, python = entry.get("size"), entry.get("requires-python")
    yanked = entry.get("yanked", False)
    metadata = entry.get("core-metadata", entry.get("dist-info-metadata"))
    known = metadata.get("sha256") if isinstance(metadata, dict) else None
    return File(
        name,
        version,
        url,
        {key: text for key, text in hashes.items() if isinstance(text, str)},
        entry["upload-time"],
        size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        python if isinstance(python, str) else None,
        yanked if isinstance(yanked, bool | str) else True,
        known if digest("sha256", known) else None,
    )


def _version(filename: str, project: str) -> str | None:
    """The version in a file's name; None if the file is not one of this project's."""
    suffix = next((each for each in _KINDS if filename.endswith(each)), None)
    if suffix is None or not _FILE.fullmatch(filename):
        return None
    stem = filename.removesuffix(suffix)
    if _KINDS[suffix] != "sdist":  # its name has no hyphen, and more follows the version
        name, _, rest = stem.partition("-")
        version = rest.partition("-")[0]
        return version if same_name(name) == project and version else None
    for hyphen in re.finditer("-", stem):
        if same_name(stem[: hyphen.start()]) == project:
            return stem[hyphen.end() :] or None
    return None


def _accepted(accept: str) -> str:
    """The best form that a client accepts; HTML if it says nothing that is known."""
    best, form = 0.0, "text/html"
    for part in accept.split(","):
        media, *options = (each.strip() for each in part.lower().split(";"))
        weight = next((each[2:] for each in options if each.startswith("q=")), "1")
        quality = float(weight) if re.fullmatch(r"[01](\.[0-9]{0,3})?", weight) else 0.0
        if media in _FORMS and quality > best:
            best, form = quality, _FORMS[media]
    return form


def _entry(file: File, there: str) -> dict[str, Any]:
    metadata = {"sha256": file.metadata} if file.metadata else False
    entry = {
        "filename": file.filename,
        "url": f"{there}/{file.key()}",
        "hashes": file.hashes,
        "requires-python": file.requires_python,
        "upload-time": file.uploaded,
        "yanked": file.yanked,
        "core-metadata": metadata,
        "dist-info-metadata": metadata,
    }
    return entry if file.size is None else entry | {"size": file.size}


def _older_entry(file: File, there: str) -> dict[str, Any]:
    return {
        "filename": file.filename,
        "url": f"{there}/{file.key()}",
        "digests": file.hashes,
        "packagetype": next(_KINDS[each] for each in _KINDS if file.filename.endswith(each)),
        "requires_python": file.requires_python,
        "size": file.size,
        "upload_time_iso_8601": file.uploaded,
        "yanked": file.yanked is not False,
        "yanked_reason": file.yanked if isinstance(file.yanked, str) else None,
    }


def _html(page: dict[str, Any]) -> str:
    """The same page as links, for clients that read no JSON."""
    title = f"Links for {escape(page['name'])}"
    links = "".join(
        f"<a {_attributes(each)}>{escape(each['filename'])}</a><br>\n" for each in page["files"]
    )
    return (
        f'<!DOCTYPE html>\n<html><head><meta name="pypi:repository-version" content="1.0">'
        f"<title>{title}</title></head>\n<body><h1>{title}</h1>\n{links}</body></html>\n"
    )


def _attributes(entry: dict[str, Any]) -> str:
    said = {"href": f"{entry['url']}#sha256={entry['hashes']['sha256']}"}
    if entry["requires-python"]:
        said["data-requires-python"] = entry["requires-python"]
    if entry["core-metadata"]:
        known = f"sha256={entry['core-metadata']['sha256']}"
        said |= {"data-core-metadata": known, "data-dist-info-metadata": known}
    if entry["yanked"] is not False:
        said["data-yanked"] = entry["yanked"] if isinstance(entry["yanked"], str) else ""
    return " ".join(f'{key}="{escape(value)}"' for key, value in said.items())

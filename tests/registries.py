"""Small registries as upstream serves them, for origins that look pages up by their paths."""

import base64
import gzip
import hashlib
import io
import json
import tarfile
import zipfile

JSON = "application/vnd.pypi.simple.v1+json"


def wheel(project, version, files=None, requires=()):
    """A wheel that pip installs: its file name, its bytes, and its metadata file's."""
    name, metadata = project.replace("-", "_"), f"Metadata-Version: 2.1\nName: {project}\n"
    metadata += f"Version: {version}\n" + "".join(f"Requires-Dist: {each}\n" for each in requires)
    about = f"{name}-{version}.dist-info"
    members = {f"{name}/__init__.py": f"version = {version!r}\n"} | (files or {})
    members[f"{about}/METADATA"] = metadata
    members[f"{about}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    members[f"{about}/RECORD"] = "".join(f"{each},,\n" for each in [*members, f"{about}/RECORD"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in members.items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return f"{name}-{version}-py3-none-any.whl", buffer.getvalue(), metadata.encode()


def tarball(manifest, files=None):
    """A package's tarball, as npm publishes it."""
    members = {"package.json": json.dumps(manifest), "index.js": "module.exports = 1"}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in (members | (files or {})).items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(f"package/{path}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


class PipIndex:
    """Pages of projects at one origin, files at another.

    Args:
        pages: The index's pages: for each path a function of what is accepted.
        files: The other's.
        where: The address of the files' origin.
    """

    def __init__(self, pages, files, where):
        self.pages, self.files, self.where = pages, files, where
        self.entries = {}

    def add(self, project, filename, content, uploaded, metadata=None, **changes):
        """Upload a file; the digest that the index says it has."""
        path, digest = f"/packages/{filename}", hashlib.sha256(content).hexdigest()
        entry = {
            "filename": filename,
            "url": f"{self.where}{path}",
            "hashes": {"sha256": digest},
            "size": len(content),
            "upload-time": uploaded,
            "requires-python": ">=3.6",
            "yanked": False,
            "provenance": f"{self.where}{path}.provenance",
        }
        self.files[path] = lambda _: ("application/octet-stream", content)
        if metadata is not None:
            entry["core-metadata"] = {"sha256": hashlib.sha256(metadata).hexdigest()}
            self.files[f"{path}.metadata"] = lambda _: ("text/plain", metadata)
        entry = {k: v for k, v in (entry | changes).items() if v is not ...}
        self.entries.setdefault(project, []).append(entry)
        self.pages[f"/simple/{project}/"] = lambda accept: self._page(project, accept)
        return entry["hashes"].get("sha256")

    def add_wheel(self, project, version, uploaded, files=None, requires=(), **changes):
        """Upload a wheel, with its metadata."""
        filename, content, metadata = wheel(project, version, files, requires)
        digest = self.add(project, filename, content, uploaded, metadata, **changes)
        return f"/simple/{project}/{digest}/{filename}"

    def _page(self, project, accept):
        if JSON not in accept:
            return "text/html", b"<a href='https://nowhere.example/x-1.0.tar.gz'>x-1.0.tar.gz</a>"
        page = {"meta": {"api-version": "1.1"}, "name": project, "files": self.entries[project]}
        return JSON, json.dumps(page | {"versions": ["9"]}).encode()


class NpmRegistry:
    """Packuments and tarballs at one origin (see ``PipIndex``)."""

    def __init__(self, pages, where):
        self.pages, self.where = pages, where
        self.packuments = {}

    def add(self, name, version, time, files=None, dist=None, **fields):
        """Publish a version."""
        path = f"/tarballs/{name.replace('/', '-')}-{version}.tgz"
        manifest = {"name": name, "version": version} | fields
        content = tarball(manifest, files)
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        usual = {"tarball": f"{self.where}{path}", "integrity": f"sha512-{digest}"}
        packument = self.packuments.setdefault(
            name, {"name": name, "dist-tags": {}, "versions": {}, "time": {}, "readme": "of today"}
        )
        packument["versions"][version] = manifest | {"dist": usual | (dist or {})}
        packument["dist-tags"]["latest"] = version
        if time is not None:
            packument["time"][version] = time
        self.pages[path] = lambda _: ("application/octet-stream", content)
        self.pages[f"/{name.replace('/', '%2F')}"] = lambda _: (
            "application/json",
            json.dumps(packument).encode(),
        )

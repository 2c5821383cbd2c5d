"""The points of an atlas on a Qdrant server: the collection they are in, copying them there, opening them."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from protatlas.atlas.edge import EdgeStore
from protatlas.atlas.format import REBUILD, STORE, Manifest, read_manifest
from protatlas.atlas.store import Point, QdrantServer, Store
from protatlas.errors import AtlasDamaged
from protatlas.records import Record

BATCH_POINTS = 128
BATCH_CHARACTERS = 4_000_000
"""Text of a request, more or less; a server takes 32 MB by default."""
NAME_LENGTH = 60


class Uploaded(Record):
    """What was copied: the collection, the number of its points, and how many of them are new."""

    collection: str
    points: int
    added: int


def collection_of(manifest: Manifest) -> str:
    """Collection of an atlas: its name, the time of its build, and eight digits of its files' checksums."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", manifest.name)[:NAME_LENGTH].strip("-") or "atlas"
    checksums = sorted((path, record.sha256) for path, record in manifest.files.items())
    digest = hashlib.sha256(repr((manifest.name, checksums)).encode("utf-8")).hexdigest()
    return f"{name}-{manifest.built:%Y%m%dT%H%M%SZ}-{digest[:8]}"


def upload_atlas(path: Path, server: QdrantServer, *, progress: Callable[[int, int], None]) -> Uploaded:
    """Copy the points of an atlas to the collection of its own on a server; those that are there are not sent again.

    A run that was stopped goes on where it was.

    Parameters
    ----------
    progress
        Told the number of points that are on the server, and of all.

    Raises
    ------
    AtlasDamaged
        If it is not an atlas that this protatlas reads.
    DependencyUnavailable
        If the server cannot be asked; what it got is kept.
    """
    from protatlas.atlas.remote import RemoteStore  # an extra that building and serving do without

    manifest = read_manifest(path)
    collection, done, added = collection_of(manifest), 0, 0
    with (
        closing(EdgeStore.load(path / STORE)) as source,
        closing(RemoteStore.connect(server, collection)) as target,
    ):
        target.create(embedding_width=manifest.embedding_width)
        for batch in _batches(source.points()):
            held = target.held([point.key for point in batch])
            if new := [point for point in batch if point.key not in held]:
                target.add(new)
            done, added = done + len(batch), added + len(new)
            progress(done, manifest.proteins)
        found = target.count()
    if found != manifest.proteins:
        raise AtlasDamaged(str(path), f"its store has {found:,} points instead of {manifest.proteins:,}", REBUILD)
    return Uploaded(collection=collection, points=manifest.proteins, added=added)


def open_remote(manifest: Manifest, server: QdrantServer) -> Store:
    """The points of an atlas on a server.

    Raises
    ------
    DependencyUnavailable
        If the server cannot be asked, or does not have all of them.
    """
    from protatlas.atlas.remote import RemoteStore

    return RemoteStore.open(server, collection_of(manifest), points=manifest.proteins)


def _batches(points: Iterable[Point]) -> Iterator[list[Point]]:
    """Points in batches of bounded number and size."""
    batch, characters = list[Point](), 0
    for point in points:
        size = sum(len(value) for value in point.payload.values() if isinstance(value, str))
        if batch and (len(batch) == BATCH_POINTS or characters + size > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(point)
        characters += size
    if batch:
        yield batch

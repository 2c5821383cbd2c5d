"""An atlas on a Qdrant server: copied once, served with the same answers, and every failure names the address."""

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
from typer.testing import CliRunner

from protatlas.app import App
from protatlas.atlas.format import STORE, read_manifest
from protatlas.atlas.store import QdrantServer
from protatlas.atlas.upload import collection_of, upload_atlas
from protatlas.cli import cli
from protatlas.errors import AtlasDamaged, DependencyUnavailable, InvalidInput, ProtatlasError, Restricted
from protatlas.tools.clusters import ClusterArguments, get_cluster_info
from protatlas.tools.proteins import SearchArguments, search_uniprot
from protatlas.tools.registry import Answer
from protatlas.tools.similarity import SimilarArguments, search_similar_protein_clusters
from tests.fakes.qdrant_server import FakeQdrant, running
from tests.known_proteins import HBA, UBIQUITIN

KEY = "a-key-that-nobody-may-read"


@pytest.fixture(scope="module")
def server(atlas_path: Path) -> Iterator[QdrantServer]:
    """A server that has the small atlas."""
    with running(FakeQdrant()) as address:
        server = QdrantServer(address)
        upload_atlas(atlas_path, server, progress=lambda *_: None)
        yield server


@pytest.fixture(scope="module")
def remote(atlas_path: Path, server: QdrantServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The small atlas without its store, whose points are on the server."""
    path = tmp_path_factory.mktemp("thin") / "small.atlas"
    shutil.copytree(atlas_path, path, ignore=shutil.ignore_patterns(STORE))
    opened = App()
    with closing(opened):
        opened.open(path, server=server)
        yield opened


def _run(*arguments: str, key: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, list(arguments), env={"COLUMNS": "300", "PROTATLAS_STORE_API_KEY": key})
    return result.exit_code, result.stdout, result.stderr


def _answers(app: App) -> list[Answer]:
    queries = ("hemoglobin", "kinase", "gene:HB*", "taxonomy_name:Mammalia AND length:[50 TO 150]", "NOT reviewed:true")
    return [
        *(search_uniprot(app, SearchArguments(query=query)) for query in queries),
        *(
            search_similar_protein_clusters(app, SimilarArguments(sequence=sequence, uncharacterized_only=unknown))
            for sequence in (HBA, UBIQUITIN)
            for unknown in (False, True)
        ),
        get_cluster_info(app, ClusterArguments(sequence=HBA)),
    ]


def _rounded(answer: Any) -> Any:
    """Plain answer with numbers to five digits: the engines add up in different orders."""
    if isinstance(answer, dict):
        return {name: _rounded(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return [_rounded(value) for value in answer]
    return round(answer, 5) if isinstance(answer, float) else answer


def test_tools_answer_from_the_server_as_from_the_directory(app: App, remote: App) -> None:
    expected = [_rounded(answer.model_dump(mode="json")) for answer in _answers(app)]

    assert [_rounded(answer.model_dump(mode="json")) for answer in _answers(remote)] == expected


def test_what_is_restricted_stays_withheld(atlas_path: Path, server: QdrantServer, tmp_path: Path) -> None:
    (tmp_path / "withheld.txt").write_text("P69905\n", encoding="utf-8")
    with closing(App(restricted=tmp_path / "withheld.txt")) as app:
        app.open(atlas_path, server=server)

        with pytest.raises(Restricted):
            search_uniprot(app, SearchArguments(query="P69905"))
        assert app.atlas.count == app.atlas.manifest.proteins - 1


def test_a_second_upload_sends_nothing(atlas_path: Path, server: QdrantServer) -> None:
    code, out, err = _run("upload", str(atlas_path), "--store", server.url, "--json")

    manifest = read_manifest(atlas_path)
    assert code == 0, err
    assert json.loads(out) == {"collection": collection_of(manifest), "points": manifest.proteins, "added": 0}


def test_a_stopped_upload_is_refused_and_goes_on_where_it_was(atlas_path: Path) -> None:
    fake, total = FakeQdrant(), read_manifest(atlas_path).proteins
    fake.fails_after = 200
    with running(fake) as address:
        stopped, _, problem = _run("upload", str(atlas_path), "--store", address)
        sent = fake.upserts
        refused = _failure(atlas_path, QdrantServer(address))
        fake.fails_after = None
        code, out, _ = _run("upload", str(atlas_path), "--store", address, "--json")

    assert (stopped, code) == (1, 0)
    assert f"{address} is not available. It answered with status 503" in problem
    assert 0 < sent < total
    assert f"{sent:,} points instead of {total:,}. Run `protatlas upload" in refused.message
    assert json.loads(out)["added"] == total - sent
    assert fake.upserts == total


def test_each_build_has_its_own_collection(atlas_path: Path) -> None:
    manifest = read_manifest(atlas_path)
    later = manifest.model_copy(update={"built": manifest.built.replace(year=2031)})
    same_second = manifest.model_copy(update={"files": manifest.files | {"x": next(iter(manifest.files.values()))}})
    odd = manifest.model_copy(update={"name": 'my/atlas: "ä" ' + "x" * 300})

    names = [collection_of(one) for one in (manifest, later, same_second, odd)]

    assert names[0].startswith(f"small-{manifest.built:%Y%m%dT%H%M%SZ}-")
    assert len(set(names)) == 4
    assert all(name.isascii() and len(name) < 100 and not set(name) & set('/\\: "') for name in names)


def test_a_store_with_other_points_than_its_manifest_is_not_uploaded_as_whole(atlas_path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "small.atlas"
    shutil.copytree(atlas_path, copy)
    manifest = read_manifest(copy)
    changed = manifest.model_copy(update={"proteins": manifest.proteins + 1})
    (copy / "manifest.json").write_text(changed.model_dump_json(), encoding="utf-8")

    with running(FakeQdrant()) as address, pytest.raises(AtlasDamaged, match=f"instead of {changed.proteins:,}"):
        upload_atlas(copy, QdrantServer(address), progress=lambda *_: None)


def _failure(atlas_path: Path, server: QdrantServer) -> ProtatlasError:
    with closing(App()) as app, pytest.raises(DependencyUnavailable) as caught:
        app.open(atlas_path, server=server)
    return caught.value


def test_a_server_without_the_collection_says_how_to_make_it(atlas_path: Path) -> None:
    with running(FakeQdrant()) as address:
        error = _failure(atlas_path, QdrantServer(address))

    assert collection_of(read_manifest(atlas_path)) in error.message
    assert f"There is none. Run `protatlas upload ATLAS --store {address}`" in error.message
    assert not error.retryable


def test_a_server_that_goes_away_is_named_in_the_answer_and_may_be_asked_again(atlas_path: Path) -> None:
    with closing(App()) as app:
        with running(FakeQdrant()) as address:
            upload_atlas(atlas_path, QdrantServer(address), progress=lambda *_: None)
            app.open(atlas_path, server=QdrantServer(address))
        with pytest.raises(DependencyUnavailable, match=f"{address} is not available.*Start it") as caught:
            search_uniprot(app, SearchArguments(query="P69905"))

    assert caught.value.retryable


def test_a_collection_that_goes_away_is_asked_for_by_name(atlas_path: Path) -> None:
    fake = FakeQdrant()
    with running(fake) as address, closing(App()) as app:
        collection = upload_atlas(atlas_path, QdrantServer(address), progress=lambda *_: None).collection
        app.open(atlas_path, server=QdrantServer(address))
        fake.local.delete_collection(collection)

        with pytest.raises(DependencyUnavailable, match=f"{address}.*no collection {collection}"):
            search_uniprot(app, SearchArguments(query="P69905"))


def test_a_server_that_is_too_old_is_told_from_one_that_is_down(atlas_path: Path) -> None:
    with running(FakeQdrant(version="1.19.3")) as address:
        error = _failure(atlas_path, QdrantServer(address))

    assert f"Qdrant 1.20 at {address}" in error.message
    assert "1.19.3" in error.message


def test_what_is_no_qdrant_server_is_refused(atlas_path: Path) -> None:
    fake = FakeQdrant()
    fake.app = Starlette(routes=[Route("/", lambda _: HTMLResponse("<h1>It works!</h1>"))])
    with running(fake) as address:
        error = _failure(atlas_path, QdrantServer(address))

    assert f"{address} is not available" in error.message


def test_serve_with_a_server_that_is_down_ends_with_its_address(atlas_path: Path) -> None:
    with running(FakeQdrant()) as address:
        pass

    command = [sys.executable, "-m", "protatlas", "serve", "--atlas", str(atlas_path), "--store", address]
    served = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | {"COLUMNS": "300"})

    assert served.returncode == 1
    assert f"The Qdrant server at {address} is not available." in served.stderr


def test_a_missing_client_names_the_extra(atlas_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "protatlas.atlas.remote", raising=False)
    monkeypatch.setitem(sys.modules, "qdrant_client", None)

    assert 'pip install "protatlas[qdrant]"' in _failure(atlas_path, QdrantServer("http://127.0.0.1:6333")).message


def test_a_store_without_an_atlas_is_bad_input() -> None:
    command = [sys.executable, "-m", "protatlas", "serve", "--store", "http://127.0.0.1:6333"]
    served = subprocess.run(command, check=False, capture_output=True, text=True)

    assert served.returncode == 2
    assert "--atlas" in served.stderr


def test_the_key_opens_the_server_and_is_never_shown(atlas_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with running(FakeQdrant(api_key=KEY)) as address:
        without = _run("upload", str(atlas_path), "--store", address)
        wrong = _run("upload", str(atlas_path), "--store", address, key="other-" + KEY)
        right = _run("upload", str(atlas_path), "--store", address, key=f"{KEY}\n")
        server = QdrantServer(address, KEY)
        with closing(App()) as app:
            app.open(atlas_path, server=server)
            found = search_uniprot(app, SearchArguments(query="P69905"))

    assert found.total_results == 1
    assert [code for code, _, _ in (without, wrong, right)] == [1, 1, 0]
    assert f"{address} is not available. It refuses the key: set PROTATLAS_STORE_API_KEY" in without[2]
    assert "travels unencrypted" in caplog.text
    assert KEY not in "".join([repr(server), caplog.text, *without[1:], *wrong[1:], *right[1:]])


@pytest.mark.parametrize(
    "address",
    ["qdrant:6333", "qdrant", "", "ftp://qdrant", "http://", "http://x:99999", "http://x:0", "http://u:secret@qdrant"],
)
def test_what_is_no_address_is_bad_input_and_is_not_repeated(address: str) -> None:
    with pytest.raises(InvalidInput, match="http://HOST:PORT") as caught:
        QdrantServer(address)

    assert "secret" not in caught.value.message


def test_a_key_that_no_header_takes_is_bad_input() -> None:
    with pytest.raises(InvalidInput, match="PROTATLAS_STORE_API_KEY") as caught:
        QdrantServer("http://qdrant:6333", "schlüssel")

    assert "schl" not in caught.value.message

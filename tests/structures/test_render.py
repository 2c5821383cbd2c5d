import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from protatlas.errors import DependencyUnavailable
from protatlas.structures.coordinates import Highlight, Structure, View
from protatlas.structures.pymol_worker import encode_png, quantise, read_frame, write_frame
from protatlas.structures.render import HEIGHT, WIDTH, Renderer

WHITE = (255, 255, 255)


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    renderer = Renderer()
    yield renderer
    renderer.close()


def pixels_of(png: bytes) -> NDArray[np.uint8]:
    """Colours of an 8-bit palette PNG whose rows have no filter, read without the encoder under test."""
    at, parts = 8, dict[bytes, bytes]()
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        content = png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + content)
        parts[kind], at = content, at + 12 + size
    width, height, depth, colour_type = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    assert (depth, colour_type) == (8, 3)
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), dtype=np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return np.frombuffer(parts[b"PLTE"], dtype=np.uint8).reshape(-1, 3)[rows[:, 1:]]


def redness(pixels: NDArray[np.uint8]) -> int:
    """Number of clearly red pixels."""
    red, green, blue = (pixels[..., channel].astype(int) for channel in range(3))
    return int(((red > 120) & (red > 2 * green) & (red > 2 * blue)).sum())


@pytest.mark.parametrize("view", [View(), View(representation="surface", orientation="top")])
def test_picture_is_whole_coloured_and_small(renderer: Renderer, haemoglobin: Structure, view: View) -> None:
    png = renderer.draw_png(haemoglobin, view)
    pixels = pixels_of(png)
    assert pixels.shape == (HEIGHT, WIDTH, 3)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) >= 16
    assert len(png) <= 80_000
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    assert (border == WHITE).all()
    drawn = (pixels != WHITE).any(axis=2)
    assert (
        max(np.ptp(np.flatnonzero(drawn.any(axis=0))) / WIDTH, np.ptp(np.flatnonzero(drawn.any(axis=1))) / HEIGHT) > 0.7
    )


def test_highlights_have_their_colour(renderer: Renderer, haemoglobin: Structure) -> None:
    distal = Highlight(author_residue_number=59, expected_residue="HIS", color="#ff0000")
    plain = pixels_of(renderer.draw_png(haemoglobin, View()))
    marked = pixels_of(renderer.draw_png(haemoglobin, View(highlights=(distal,))))
    assert redness(plain) == 0
    assert redness(marked) > 50


def test_feature_values_colour_their_residues(renderer: Renderer, ubiquitin: Structure) -> None:
    view = View(color_by="feature")
    cold = pixels_of(renderer.draw_png(ubiquitin, view, feature_values=[0.0] * 76))
    hot = pixels_of(renderer.draw_png(ubiquitin, view, feature_values=[1.0] * 38 + [0.0] * 38))
    assert redness(cold) == 0
    assert redness(hot) > 1000


def test_a_worker_that_died_is_replaced(ubiquitin: Structure) -> None:
    renderer = Renderer()
    renderer.start()
    assert renderer._worker is not None
    renderer._worker.kill()
    renderer._worker.wait()
    assert renderer.draw_png(ubiquitin, View()).startswith(b"\x89PNG")
    renderer.close()


def test_a_worker_that_hangs_is_stopped(ubiquitin: Structure) -> None:
    hanging = Renderer(timeout_s=0.2, command=(sys.executable, "-c", "import sys; sys.stdin.read()"))
    with pytest.raises(DependencyUnavailable, match="too long"):
        hanging.draw_png(ubiquitin, View())
    assert hanging._worker is None


def test_without_pymol_the_error_says_what_to_install(ubiquitin: Structure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protatlas.structures.render.find_spec", lambda _: None)
    with pytest.raises(DependencyUnavailable, match="pymol-open-source"):
        Renderer().draw_png(ubiquitin, View())


def test_few_colours_survive_the_palette_exactly() -> None:
    pixels = np.array([[[255, 0, 0], [0, 0, 255]], [[255, 255, 255], [12, 200, 99]]], dtype=np.uint8)
    assert (pixels_of(encode_png(pixels)) == pixels).all()


def test_many_colours_stay_near_their_own() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, size=(64, 64, 3), dtype=np.uint8)
    palette, indices = quantise(pixels)
    assert len(palette) == 256
    error = np.linalg.norm(palette[indices].astype(float) - pixels, axis=2)
    assert error.mean() < 256 / 256 ** (1 / 3)


def test_frames_survive_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    with path.open("wb") as target:
        write_frame(target, b"one")
        write_frame(target, b"")
    with path.open("rb") as source:
        assert [read_frame(source), read_frame(source), read_frame(source)] == [b"one", b"", None]


def test_a_worker_that_cannot_load_pymol_says_what_is_missing(ubiquitin: Structure) -> None:
    sentence = "libGL.so.1: cannot open shared object file"
    frame = f"import struct,sys; t={b'E' + sentence.encode()!r}; sys.stdout.buffer.write(struct.pack('>I', len(t)) + t)"
    renderer = Renderer(command=(sys.executable, "-c", frame))

    with pytest.raises(DependencyUnavailable, match=r"libGL\.so\.1.*libgl1"):
        renderer.draw_png(ubiquitin, View())

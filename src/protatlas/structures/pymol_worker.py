"""Worker process that draws with PyMOL: jobs come in on stdin, pictures go out on stdout.

PyMOL has one global session and prints to stdout as it likes, so it gets a process of its own whose file descriptor 1
is moved away first. A frame is a 4-byte big-endian length and that many bytes: a job is JSON, an answer is `P` and a
PNG, or `E` and the reason in words; the first answer, before any job, is `R` when PyMOL is loaded, else `E`. The worker
ends when stdin does, so it never outlives its parent. Standard library, numpy and PyMOL only: `render` starts this file
by its path.
"""

import json
import os
import signal
import struct
import sys
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Job = dict[str, Any]

OBJECT = "structure"
CHAIN_COLOR, NEUTRAL, HIGHLIGHT = "#3b74af", "#b4b4b4", "#e0149b"
# Bands of the AlphaFold database (https://alphafold.ebi.ac.uk, read 2026-11-30): least pLDDT and colour.
CONFIDENCE_BANDS = ((0, "#ff7d45"), (50, "#ffdb13"), (70, "#65cbf3"), (90, "#0053d6"))
FEATURE_COLORS = ("#d0d0d0", "#fdae61", "#c4161c")
FEATURE_STEPS = 11
# Axis and degrees that lead from the front to each side.
SIDES = {
    "front": ("y", 0),
    "back": ("y", 180),
    "left": ("y", 90),
    "right": ("y", -90),
    "top": ("x", 90),
    "bottom": ("x", -90),
}
FIELD_OF_VIEW = 20.0
# Room around the C-alphas for ribbons, balls and the surface, in ångström.
PADDING = 4.0
MAX_COLORS = 256
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def main() -> None:
    """Serve jobs until stdin ends."""
    jobs, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        from pymol import CmdException, cmd
    except ImportError as error:
        write_frame(answers, b"E" + str(error).encode("utf-8", "replace"))
        return

    # An interrupt at the terminal goes to the whole group; the parent decides when the worker ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    write_frame(answers, b"R")
    while (frame := read_frame(jobs)) is not None:
        try:
            answer = b"P" + draw(cmd, json.loads(frame))
        except CmdException as error:
            answer = b"E" + str(error).encode("utf-8", "replace")
        write_frame(answers, answer)


def read_frame(source: IO[bytes]) -> bytes | None:
    """Next frame; None at the end of the stream."""
    head = source.read(4)
    if len(head) < 4:
        return None
    (size,) = struct.unpack(">I", head)
    content = source.read(size)
    return content if len(content) == size else None


def write_frame(target: IO[bytes], content: bytes) -> None:
    """Write one frame and flush."""
    target.write(struct.pack(">I", len(content)) + content)
    target.flush()


def draw(cmd: Any, job: Job) -> bytes:
    """PNG of one job."""
    cmd.reinitialize()
    cmd.load_raw(job["mmcif"], "cif", OBJECT)
    settings(cmd)
    show(cmd, job)
    paint(cmd, job)
    highlight(cmd, job)
    aim(cmd, job)
    with TemporaryDirectory() as folder:
        path = Path(folder, "picture.ppm")
        cmd.png(str(path), job["width"], job["height"], ray=1, quiet=1, format=1)
        return encode_png(read_ppm(path.read_bytes()))


def settings(cmd: Any) -> None:
    """Look of all pictures: white ground, smooth cartoon, soft light."""
    cmd.bg_color("white")
    for name, value in (
        ("ray_opaque_background", 1),
        ("ray_shadows", 0),
        ("antialias", 1),
        ("specular", 0.15),
        ("ambient", 0.35),
        ("fog", 0.5),
        ("fog_start", 0.5),
        ("field_of_view", FIELD_OF_VIEW),
        ("cartoon_fancy_helices", 0),
        ("cartoon_highlight_color", "grey75"),
        ("surface_quality", 0),
    ):
        cmd.set(name, value)


def show(cmd: Any, job: Job) -> None:
    """Show the visible chains as cartoon or surface."""
    cmd.hide("everything")
    chains = job["view"]["visible_chain_ids"]
    cmd.show(job["view"]["representation"], f"{OBJECT} and chain {'+'.join(chains)}" if chains else OBJECT)


def paint(cmd: Any, job: Job) -> None:
    """Colour residues by chain, pLDDT band or feature value."""
    cmd.color(hex_color(CHAIN_COLOR), OBJECT)
    if job["view"]["color_by"] == "confidence":
        cmd.color(hex_color(NEUTRAL), OBJECT)
        for least, color in CONFIDENCE_BANDS if job["has_confidence"] else ():
            cmd.color(hex_color(color), f"{OBJECT} and b > {least - 1e-3}")
    if job["view"]["color_by"] == "feature":
        paint_feature(cmd, job["feature_values"])


def paint_feature(cmd: Any, values: list[float]) -> None:
    """Colour by value 0 to 1 of each residue, in steps; a residue beyond the values keeps the colour of 0."""
    cmd.color(hex_color(FEATURE_COLORS[0]), OBJECT)
    steps = np.rint(np.clip(values, 0, 1) * (FEATURE_STEPS - 1)).astype(int)
    for step in sorted(set(steps.tolist()) - {0}):
        numbers = "+".join(str(at + 1) for at in np.flatnonzero(steps == step).tolist())
        cmd.color(hex_color(blend(FEATURE_COLORS, step / (FEATURE_STEPS - 1))), f"{OBJECT} and resi {numbers}")


def blend(colors: tuple[str, ...], share: float) -> str:
    """Colour at `share` (0 to 1) of a ramp through `colors`."""
    stops = np.linspace(0, 1, len(colors))
    channels = np.array([[int(color[at : at + 2], 16) for at in (1, 3, 5)] for color in colors])
    mixed = [round(float(np.interp(share, stops, channels[:, channel]))) for channel in range(3)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def highlight(cmd: Any, job: Job) -> None:
    """Colour the highlighted residues, with a ball on the C-alpha, and sticks where there is a side chain."""
    for item in job["view"]["highlights"]:
        residue = f"{OBJECT} and chain {item['chain_id']} and resi {item['author_residue_number']}"
        cmd.color(hex_color(item["color"] or HIGHLIGHT), residue)
        if job["view"]["representation"] == "cartoon":
            cmd.show("spheres", f"{residue} and name CA")
            cmd.show("sticks", f"{residue} and (sidechain or name CA)")
    cmd.set("sphere_scale", 0.75)


def aim(cmd: Any, job: Job) -> None:
    """Orient on the principal axes, turn to the wanted side, then apply the camera."""
    camera = job["view"]["camera"] or {}
    cmd.orient(OBJECT)
    cmd.turn(*SIDES[job["view"]["orientation"]])
    for axis, name in (("y", "turn"), ("x", "tilt"), ("z", "roll")):
        cmd.turn(axis, camera.get(name, 0))
    fit(cmd, camera.get("zoom", 1), camera.get("center_residue"), aspect=job["width"] / job["height"])


def fit(cmd: Any, zoom: float, center_residue: int | None, *, aspect: float) -> None:
    """Set distance and clip planes so that all atoms fill the picture, `zoom` times as large, around the centre."""
    view = list(cmd.get_view())
    rotation = np.array(view[:9]).reshape(3, 3)
    atoms = cmd.get_coords(OBJECT) @ rotation
    middle = (atoms.min(axis=0) + atoms.max(axis=0)) / 2
    slope = np.tan(np.radians(FIELD_OF_VIEW / 2))
    reach = np.abs(atoms - middle)[:, :2] + PADDING
    needed = (reach / (slope * np.array([aspect, 1]))).max(axis=1) + (atoms - middle)[:, 2]
    if center_residue is not None:
        middle = cmd.get_coords(f"{OBJECT} and resi {center_residue} and name CA")[0] @ rotation
    depth = (atoms - middle)[:, 2]
    distance = float(needed.max()) / zoom
    view[9:12] = [0.0, 0.0, -distance]
    view[12:15] = (rotation @ middle).tolist()
    view[15:17] = [max(1.0, distance - depth.max() - PADDING), distance - depth.min() + PADDING]
    cmd.set_view(view)


def hex_color(color: str) -> str:
    """PyMOL's name of a `#rrggbb` colour."""
    return "0x" + color.removeprefix("#")


def read_ppm(content: bytes) -> Pixels:
    """Pixels of a binary PPM without comments, uint8, shape (height, width, 3)."""
    _, size, _, values = content.split(b"\n", 3)
    width, height = (int(number) for number in size.split())
    return np.frombuffer(values, dtype=np.uint8).reshape(height, width, 3)


def encode_png(pixels: Pixels) -> bytes:
    """PNG with a palette of at most 256 colours of `pixels` (uint8, shape (height, width, 3))."""
    palette, indices = quantise(pixels)
    height, width = indices.shape
    rows = np.concatenate([np.zeros((height, 1), dtype=np.uint8), indices], axis=1)
    return SIGNATURE + b"".join(
        (
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            chunk(b"PLTE", palette.tobytes()),
            chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            chunk(b"IEND", b""),
        )
    )


def chunk(kind: bytes, content: bytes) -> bytes:
    """One chunk of a PNG file (ISO/IEC 15948)."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def quantise(pixels: Pixels) -> tuple[Pixels, Pixels]:
    """Palette, shape (colours, 3), and index of each pixel in it, shape (height, width).

    Colours are grouped into bins of 5 bits a channel; the 256 fullest bins give the palette by their means, and a
    pixel of another bin takes the nearest.
    """
    flat = pixels.reshape(-1, 3).astype(np.int64)
    bins = (flat >> 3) @ np.array([1024, 32, 1])
    _, owner, counts = np.unique(bins, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(owner, flat[:, channel]) for channel in range(3)], axis=1) / counts[:, None]
    kept = np.argsort(-counts, kind="stable")[:MAX_COLORS]
    distances = ((means[:, None, :] - means[kept][None, :, :]) ** 2).sum(axis=2)
    indices = distances.argmin(axis=1).astype(np.uint8)[owner]
    return np.rint(means[kept]).astype(np.uint8), indices.reshape(pixels.shape[:2])


if __name__ == "__main__":
    main()

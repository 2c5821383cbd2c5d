#!/usr/bin/env python3
"""Write docs/gallery.md and its pictures: features of a model pack, on the starter data.

Usage: PYTHONPATH=src:. python scripts/gallery.py [--pack PACK]
"""

import argparse
import csv
import gzip
import io
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from protatlas.atlas.starter import starter_files
from protatlas.engines.encoders import Encoder, open_encoder
from protatlas.engines.features import FeatureSet, open_features
from protatlas.headers import parse_header
from protatlas.records import Feature, Region, protein_hash
from protatlas.sequences.fasta import Entry, read_fasta
from protatlas.structures.coordinates import Structure, StructureArchive, View
from protatlas.structures.render import Renderer
from scripts.logo import GAP, draw_logo

DOCS = Path(__file__).parents[1] / "docs"
FEATURES, CANDIDATES, TOP = 10, 60, 5
LONGEST = 1_000
# Shares of the feature's maximum over the reference proteins from which on a protein counts for the logo, and may be
# the one with the structure.
FIRES, FIRES_CLEARLY = 0.4, 0.6
SEGMENTS, MIN_SEGMENTS, REACH, SLIDE, ROUNDS = 60, 15, 7, 4, 10
PICTURE, PICTURE_COLORS = (480, 360), 96

INTRODUCTION = """# Gallery of features

Written by `scripts/gallery.py`; do not edit. Features of the sparse autoencoder `{sae}`: those whose
labels have the best F1 on proteins that did not choose them, each concept once, where the feature fires clearly on a
protein with a structure in the starter atlas.

**A feature is a hypothesis.** Its label is the concept that fits best where it fires, found by statistics; it is no
finding about a protein. [models.md](models.md) says how labels are chosen and how often they fit.

- *Logo.* Windows of {window} residues around the peak, on the up to {segments} proteins that fire most, equal windows
  once, each moved by at most {slide} residues to where they agree best. Heights are bits, corrected for small samples;
  moving the windows raises them. A residue is encoded with its neighbours, so the peak may
  lie beside what is conserved.
- *Proteins.* Of the {searched:,} of the starter atlas that are reviewed or have a structure, and have up to {longest:,}
  residues; highest activation first, as a share of the feature's maximum over its reference proteins. The region
  holds the peak and all around it from half of the peak on. The domains at the peak are the Pfam hits that ship with
  the atlas: where there are others than the label, or none, it does not fit there, or a related family took its place.
  A label that names whole proteins (concept `name:...`) has no domain of its own.
- *Structure.* Grey is no activation, red the peak on this protein. Shown is the protein that fires most among those
  with a structure and the labelled domain at the peak; where there is none, among those with a structure. Where the
  label names whole proteins, it is one of that name.

Regenerate after a change of the pack: `PYTHONPATH=src:. python scripts/gallery.py` (some minutes).
"""


class Domain(NamedTuple):
    """Hit of a Pfam family, 1-based and inclusive."""

    accession: str
    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Firing:
    """A protein on which a feature fires: its peak as a share of the maximum, and its trace, float32 (L,).

    `region` holds the peak, `domains` are the hits that do.
    """

    entry: Entry
    activation: float
    trace: npt.NDArray[np.float32]
    region: Region
    domains: tuple[Domain, ...]

    def has(self, feature: Feature) -> bool:
        """Whether the domain that the feature is labelled with is at the peak, or the label is the protein's name."""
        name = parse_header(self.entry.header).protein_name or ""
        is_named = name.casefold() == (feature.label or "").casefold()
        return is_named or any(domain.accession == feature.concept for domain in self.domains)


@dataclass(frozen=True)
class Exhibit:
    """A feature, the proteins on which it fires most, windows around its peaks, and a protein with its structure."""

    feature: Feature
    firings: list[Firing]
    segments: list[str]
    shown: Firing
    structure: Structure


def candidates(features: FeatureSet) -> list[Feature]:
    """The best feature of each concept, best first."""
    labelled = sorted((f for f in features.table if f.f1), key=lambda f: (-(f.f1 or 0), f.feature_index))
    best = {feature.concept: feature for feature in reversed(labelled)}
    return sorted(best.values(), key=lambda f: (-(f.f1 or 0), f.feature_index))[:CANDIDATES]


def proteins(archive: StructureArchive) -> list[Entry]:
    """Reviewed proteins and proteins with a structure, in their order in the starter data."""
    return [
        entry
        for entry in read_fasta(starter_files() / "proteins.fasta.gz")
        if len(entry.sequence) <= LONGEST
        and (parse_header(entry.header).reviewed or protein_hash(entry.sequence) in archive.records)
    ]


def domains() -> dict[str, list[Domain]]:
    """Pfam hits of the starter proteins by the hash of the protein."""
    found: dict[str, list[Domain]] = defaultdict(list)
    with gzip.open(starter_files() / "domains.tsv.gz", "rt", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            domain = Domain(row["pfam_accession"], row["name"], int(row["start"]), int(row["end"]))
            found[row["protein_hash"]].append(domain)
    return found


class Gallery:
    """Peaks of some features on all proteins, float32 (proteins, features), as shares of the maxima."""

    def __init__(self, encoder: Encoder, features: FeatureSet, archive: StructureArchive) -> None:
        self._encoder, self._features, self._archive = encoder, features, archive
        self._domains = domains()
        self.entries, self._candidates = proteins(archive), candidates(features)
        chosen = [feature.feature_index for feature in self._candidates]
        self._peaks = np.zeros((len(self.entries), len(chosen)), dtype=np.float32)
        for row, entry in zip(self._peaks, self.entries, strict=True):
            activations = features.sae.activate(encoder.encode(entry.sequence).residues)
            pooled = np.zeros(features.sae.size, dtype=np.float32)
            np.maximum.at(pooled, activations.indices.ravel(), activations.values.ravel())
            row[:] = pooled[chosen] / features.maximum[chosen]
        self._structured = np.array([protein_hash(entry.sequence) in archive.records for entry in self.entries])

    def exhibits(self) -> list[Exhibit]:
        """The features to show, best label first."""
        found = (self._exhibit(column, feature) for column, feature in enumerate(self._candidates))
        return list(islice((exhibit for exhibit in found if exhibit), FEATURES))

    def _exhibit(self, column: int, feature: Feature) -> Exhibit | None:
        """What there is to show of a feature; None where few proteins fire or no structure has the peak."""
        peaks = self._peaks[:, column]
        order = [int(at) for at in np.argsort(-peaks, kind="stable") if peaks[at] >= FIRES]
        firings = [self._firing(self.entries[at], feature) for at in order[:SEGMENTS]]
        segments = windows(firings)
        if len(segments) < MIN_SEGMENTS:
            return None
        pictured = [self._firing(self.entries[at], feature) for at in order if self._structured[at]]
        for shown in sorted(pictured, key=lambda f: (not f.has(feature), -f.activation)):
            structure = self._archive.load(protein_hash(shown.entry.sequence))
            is_clear = shown.has(feature) or (shown.activation >= FIRES_CLEARLY and not is_of_proteins(feature))
            if is_clear and structure and shown.region.peak_residue in structure.residues:
                return Exhibit(feature, firings, segments, shown, structure)
        return None

    def _firing(self, entry: Entry, feature: Feature) -> Firing:
        index = feature.feature_index
        activations = self._features.sae.activate(self._encoder.encode(entry.sequence).residues)
        trace = activations.trace(index)
        peak = int(trace.argmax()) + 1
        region = next(r for r in self._features.regions(activations, index) if r.start <= peak <= r.end)
        domains = tuple(d for d in self._domains[protein_hash(entry.sequence)] if d.start <= peak <= d.end)
        return Firing(entry, float(trace.max() / self._features.maximum[index]), trace, region, domains)


def is_of_proteins(feature: Feature) -> bool:
    """Whether the label is the name of whole proteins, and not a stretch of theirs."""
    return (feature.concept or "").startswith("name:")


def windows(firings: Sequence[Firing]) -> list[str]:
    """Windows around the peaks, `REACH` residues to each side and gaps beyond the ends, equal ones once; aligned.

    Each window in turn moves by up to `SLIDE` residues to where the others' letters agree with it most.
    """
    side, size = REACH + SLIDE, 2 * REACH + 1
    wide = list(
        dict.fromkeys(
            (GAP * side + f.entry.sequence + GAP * side)[f.region.peak_residue - 1 :][: 2 * side + 1] for f in firings
        )
    )
    shifts = [SLIDE] * len(wide)
    for _ in range(ROUNDS if len(wide) > 1 else 0):
        before = list(shifts)
        for at, window in enumerate(wide):
            others = [w[s : s + size] for n, (w, s) in enumerate(zip(wide, shifts, strict=True)) if n != at]
            columns = [Counter(column) for column in zip(*others, strict=True)]
            shifts[at] = max(range(2 * SLIDE + 1), key=lambda s: _agreement(window[s : s + size], columns, s))
        if shifts == before:
            break
    return [window[shift : shift + size] for window, shift in zip(wide, shifts, strict=True)]


def _agreement(segment: str, columns: Sequence[Counter[str]], shift: int) -> tuple[float, int]:
    """How well a segment fits the letters of the others; of equal ones the least moved is best."""
    fit = sum(
        float(np.log(1 + column[letter])) for letter, column in zip(segment, columns, strict=True) if letter != GAP
    )
    return fit, -abs(shift - SLIDE)


def section(exhibit: Exhibit, folder: Path, renderer: Renderer) -> str:
    """Markdown of a feature, after its pictures were written."""
    feature, name = exhibit.feature, f"feature-{exhibit.feature.feature_index}"
    segments = exhibit.segments
    (folder / f"{name}.svg").write_text(draw_logo(segments, first=-REACH), encoding="utf-8")
    values = exhibit.shown.trace / exhibit.shown.trace.max()
    picture = renderer.draw_png(exhibit.structure, View(color_by="feature"), feature_values=values.tolist())
    small = Image.open(io.BytesIO(picture)).convert("RGB").resize(PICTURE, Image.Resampling.LANCZOS)
    small.quantize(PICTURE_COLORS).save(folder / f"{name}.png", optimize=True)
    record, shown = exhibit.structure.record, parse_header(exhibit.shown.entry.header)
    title = f"{shown.protein_name} ({shown.accession}), {record.entry} chain {record.chain}"
    lines = [
        f"## {feature.label}",
        f"\nFeature {feature.feature_index}, concept {feature.concept}, F1 {feature.f1:.2f}, reliability "
        f"{feature.label_reliability}. {feature.activation_pattern or ''}\n",
        f"![Logo of {len(segments)} windows around the peak](gallery/{name}.svg)\n",
        f"*{len(segments)} different windows.*\n",
        "| protein | name | organism | region | peak | activation | domains at the peak |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *map(_protein, exhibit.firings[:TOP]),
        f"\n![{title}, painted by feature {feature.feature_index}](gallery/{name}.png)\n",
        f"*{title}: region {exhibit.shown.region.start}-{exhibit.shown.region.end} of {len(values)} residues; "
        f"domains at the peak: {_names(exhibit.shown.domains) or 'none'}.*\n",
    ]
    return "\n".join(lines)


def _protein(firing: Firing) -> str:
    header, region = parse_header(firing.entry.header), firing.region
    cells = (
        f"`{header.accession}`",
        (header.protein_name or "").replace("|", "\\|"),
        header.organism or "",
        f"{region.start}-{region.end}",
        f"{firing.entry.sequence[region.peak_residue - 1]}{region.peak_residue}",
        f"{firing.activation:.2f}",
        _names(firing.domains) or "none",
    )
    return f"| {' | '.join(cells)} |"


def _names(found: Sequence[Domain]) -> str:
    """Names and accessions of the families, each once."""
    return ", ".join(dict.fromkeys(f"{domain.name} ({domain.accession})" for domain in found))


def main() -> None:
    """Write the page and its pictures anew."""
    parser = argparse.ArgumentParser(description="Write docs/gallery.md and its pictures.")
    parser.add_argument("--pack", type=Path, help="model pack; by default the embedded one")
    parser.add_argument("--output", type=Path, default=DOCS, help="folder of the page")
    options = parser.parse_args()
    encoder, features = open_encoder(options.pack), open_features(options.pack)
    gallery = Gallery(encoder, features, StructureArchive(starter_files() / "structures.zip"))
    folder, renderer = options.output / "gallery", Renderer()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    introduction = INTRODUCTION.format(
        sae=features.sae.id,
        window=2 * REACH + 1,
        segments=SEGMENTS,
        slide=SLIDE,
        searched=len(gallery.entries),
        longest=LONGEST,
    )
    sections = [section(exhibit, folder, renderer) for exhibit in gallery.exhibits()]
    renderer.close()
    (options.output / "gallery.md").write_text("\n".join([introduction, *sections]), encoding="utf-8")


if __name__ == "__main__":
    main()

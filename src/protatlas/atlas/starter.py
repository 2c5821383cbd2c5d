"""The starter atlas: what ships with the package and where its built form is kept."""

from hashlib import sha256
from pathlib import Path

from platformdirs import user_cache_path

from protatlas import __version__
from protatlas.atlas.format import FORMAT_VERSION
from protatlas.atlas.plan import BuildPlan, Terms
from protatlas.errors import DependencyUnavailable

NAME = "starter"
TERMS = {
    "sequences": Terms("CC BY 4.0", "The UniProt Consortium"),
    "domains": Terms("CC0 1.0", "Pfam"),
    "go": Terms("CC BY 4.0", "Gene Ontology Consortium; The UniProt Consortium"),
    "lineages": Terms("public domain", "NCBI Taxonomy"),
    "structures": Terms("CC0 1.0", "Protein Data Bank"),
}
DOMAIN_FAMILIES = 3_057
"""Families that the table of domains was made with (data/README.md)."""


def starter_files() -> Path:
    """Folder of the tables that the starter atlas is built from: in the package, or in a source checkout.

    Raises
    ------
    DependencyUnavailable
        If neither is there.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "starter", package.parents[1] / "data" / "starter"):
        if (folder / "proteins.fasta.gz").is_file():
            return folder
    raise DependencyUnavailable("The starter data", "Install protatlas again, or name an atlas with --atlas.")


def starter_plan(*model_ids: str) -> BuildPlan:
    """Plan of the starter atlas; another release, format or model gets another folder in the user's cache.

    Parameters
    ----------
    model_ids : str
        Ids of the encoder and of the sparse autoencoder that will build it.
    """
    files = starter_files()
    models = " ".join([__version__, str(FORMAT_VERSION), *model_ids])
    sizes = " ".join(f"{path.name}:{path.stat().st_size}" for path in sorted(files.iterdir()))
    tag = sha256(f"{models} {sizes}".encode()).hexdigest()[:12]
    return BuildPlan(
        fasta=(files / "proteins.fasta.gz",),
        output=user_cache_path("protatlas", appauthor=False) / f"{NAME}-{tag}.atlas",
        name=NAME,
        domains=files / "domains.tsv.gz",
        domain_families=DOMAIN_FAMILIES,
        go=files / "go.tsv.gz",
        lineages=files / "taxa.tsv.gz",
        structures=files / "structures.zip",
        terms=TERMS,
    )

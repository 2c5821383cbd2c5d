"""Settings of the server: one table, read once at the start."""

from typing import NamedTuple


class Setting(NamedTuple):
    """A row of the table: flag, environment variable, default and what it does."""

    flag: str
    variable: str
    default: str
    help: str


STORE_API_KEY = "PROTATLAS_STORE_API_KEY"
"""Variable of the Qdrant server's key: no flag, which every user of the machine could read."""
SETTINGS = {
    setting.flag: setting
    for setting in (
        Setting("atlas", "PROTATLAS_ATLAS", "", "Atlas directory to serve; without it the starter atlas."),
        Setting(
            "accessions", "PROTATLAS_ACCESSIONS", "", "Accession index to look up in, by protatlas index-accessions."
        ),
        Setting("restricted", "PROTATLAS_RESTRICTED", "", "List of accessions, MD5 keys and taxa that are not shown."),
        Setting(
            "store", "PROTATLAS_STORE", "", "Qdrant server with the points of the atlas, such as http://qdrant:6333."
        ),
        Setting(
            "model", "PROTATLAS_MODEL", "", "ESMC or ESM-2, a folder or a name on a hub, instead of the own encoder."
        ),
        Setting("sae", "PROTATLAS_SAE", "", "Sparse autoencoder of that model: a folder or a name on a hub."),
        Setting("labels", "PROTATLAS_LABELS", "", "Feature table of that sparse autoencoder, a Parquet file."),
        Setting("device", "PROTATLAS_DEVICE", "cpu", "cpu or cuda, to run the model on."),
        Setting("dtype", "PROTATLAS_DTYPE", "float32", "float32 or bfloat16, of the model."),
        Setting("state", "PROTATLAS_STATE", "", "Folder of BLAST jobs and databases; by default one of the user's."),
        Setting(
            "ncbi-email", "PROTATLAS_NCBI_EMAIL", "", "Lets blast_sequence ask NCBI, which may write to this address."
        ),
        Setting("ncbi-url", "PROTATLAS_NCBI_URL", "", "BLAST URL API of a mirror instead of NCBI's own."),
        Setting(
            "ebi-email", "PROTATLAS_EBI_EMAIL", "", "Lets blast_sequence ask EMBL-EBI, which may write to this address."
        ),
        Setting("ebi-url", "PROTATLAS_EBI_URL", "", "Job Dispatcher of a mirror instead of EMBL-EBI's own."),
        Setting("host", "PROTATLAS_HOST", "127.0.0.1", "Address to listen on."),
        Setting("port", "PROTATLAS_PORT", "8000", "Port to listen on."),
        Setting("allow-host", "PROTATLAS_ALLOW_HOSTS", "", "Further Host header to accept, such as mcp.example.org."),
        Setting("allow-origin", "PROTATLAS_ALLOW_ORIGINS", "", "Further browser Origin, such as https://example.org."),
        Setting("log-level", "PROTATLAS_LOG_LEVEL", "INFO", "DEBUG, INFO, WARNING or ERROR; the log goes to stderr."),
    )
}

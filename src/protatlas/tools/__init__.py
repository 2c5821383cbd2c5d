"""What a model can call. `TOOLS` is the one table; each row is defined in the module of its noun."""

from protatlas.app import App
from protatlas.tools.accessions import LOOKUP_ACCESSION
from protatlas.tools.blast import BLAST_JOB, BLAST_SEQUENCE
from protatlas.tools.clusters import GET_CLUSTER_INFO
from protatlas.tools.features import GET_SAE_FEATURE_DETAIL
from protatlas.tools.proteins import GET_PROTEIN_DETAILS, SEARCH_UNIPROT
from protatlas.tools.registry import Tools
from protatlas.tools.similarity import SEARCH_SIMILAR
from protatlas.tools.structures import SHOW_PROTEIN_STRUCTURE

TOOLS: Tools[App] = (
    SEARCH_UNIPROT,
    LOOKUP_ACCESSION,
    SEARCH_SIMILAR,
    GET_PROTEIN_DETAILS,
    GET_CLUSTER_INFO,
    GET_SAE_FEATURE_DETAIL,
    SHOW_PROTEIN_STRUCTURE,
    BLAST_SEQUENCE,
    BLAST_JOB,
)

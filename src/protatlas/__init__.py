"""protatlas: a protein atlas that people run themselves.

Start at `protatlas.cli` for the commands, `protatlas.server` for the MCP server and `protatlas.app` for how the parts
are put together. The science is a plain library: `sequences` reads them, `engines` compute, `atlas` builds and
answers, `blast` searches, `structures` shows. Imports go down only.
"""

__version__ = "0.1.0"

"""What a search on this machine looks in: the proteins of an atlas, or a database that the user made."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from protatlas.reports import Molecule


@dataclass(frozen=True)
class Target:
    """Sequences to search.

    Attributes
    ----------
    name, version : str
        As answers show them; the version changes with the content.
    molecule : str
        `protein` or `nucleotide`.
    sequences, residues : int
        Their number and all their letters.
    records : callable
        Gives pairs of key and upper-case sequence; keys are letters and digits.
    folder : Path
        Where engines keep their files of it; made when the first one does.
    """

    name: str
    version: str
    molecule: Molecule
    sequences: int
    residues: int
    records: Callable[[], Iterator[tuple[str, str]]]
    folder: Path

    def prepared(self, engine: str, make: Callable[[Path], None]) -> Path:
        """Folder with an engine's files, made by `make` in an empty one where they are not there yet.

        Several processes may prepare it at once: the first that is ready wins.
        """
        folder = self.folder / engine
        if folder.is_dir():
            return folder
        self.folder.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(prefix=f"{engine}-", dir=self.folder))
        try:
            make(begun)
            begun.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
        finally:
            shutil.rmtree(begun, ignore_errors=True)
        return folder

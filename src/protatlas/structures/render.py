"""Pictures of structures, ray-traced by PyMOL in a worker process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer
from weakref import finalize

from protatlas.errors import DependencyUnavailable
from protatlas.structures.coordinates import Structure, View, check_view
from protatlas.structures.pymol_worker import read_frame, write_frame

WIDTH, HEIGHT = 640, 480
# A cartoon of 400 residues takes about 1 s on one core and a surface 5 s; a minute means that something hangs.
TIMEOUT_S = 60.0
WORKER = Path(__file__).with_name("pymol_worker.py")
LIBRARIES = (
    "Install what it needs on the server, on Debian and Ubuntu `apt-get install libgl1`; the coordinates are there."
)
INSTALL = "Install the package `pymol-open-source` on the server; the coordinates are there without it."


class Renderer:
    """Draws one picture at a time in a worker process, which starts at the first call and stays.

    A worker that hangs is killed after `timeout_s`, one that died is replaced at the next call. It ends with this
    object, and with the process that started it.

    Parameters
    ----------
    timeout_s
        Longest time for one picture, in seconds.
    command
        Program and arguments of the worker.
    """

    def __init__(self, *, timeout_s: float = TIMEOUT_S, command: Sequence[str] = (sys.executable, "-P", str(WORKER))):
        self._timeout_s = timeout_s
        self._command = tuple(command)
        self._lock = Lock()
        self._worker: subprocess.Popen[bytes] | None = None
        self._ending: Callable[[], object]

    def start(self) -> None:
        """Start the worker now, so that the first picture does not wait for it.

        Raises
        ------
        DependencyUnavailable
            If PyMOL is not there or does not start.
        """
        with self._lock:
            self._running()

    def draw_png(self, structure: Structure, view: View, *, feature_values: Sequence[float] | None = None) -> bytes:
        """PNG of the structure, 640 x 480 pixels on white.

        Parameters
        ----------
        structure
            What to draw.
        view
            How; checked against the structure by `check_view`.
        feature_values
            Value 0 to 1 of each residue of the protein, first residue first, for `color_by="feature"`.

        Raises
        ------
        InvalidInput, HighlightMismatch
            If the structure cannot show the view.
        DependencyUnavailable
            If PyMOL is not there, fails, or takes too long.
        """
        check_view(structure, view, feature_values=feature_values)
        if not self._lock.acquire(timeout=self._timeout_s):
            raise DependencyUnavailable("A free renderer", "Others are drawing; ask again.")
        try:
            answer = self._exchange(self._running(), _job(structure, view, feature_values))
        finally:
            self._lock.release()
        if answer[:1] != b"P":
            raise DependencyUnavailable("A picture of this structure", f"PyMOL says: {answer[1:].decode('utf-8')}")
        return answer[1:]

    def close(self) -> None:
        """End the worker; a later call starts another."""
        with self._lock:
            self._stop()

    def _running(self) -> "subprocess.Popen[bytes]":
        """The worker, started where there is none that lives; it has said that PyMOL is loaded."""
        if self._worker is not None and self._worker.poll() is None:
            return self._worker
        self._stop()
        if find_spec("pymol") is None:
            raise DependencyUnavailable("PyMOL", INSTALL)
        self._worker = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ending = finalize(self, _end, self._worker)
        greeting = self._exchange(self._worker, None)
        if greeting[:1] == b"E":
            self._stop()
            raise DependencyUnavailable(f"PyMOL ({greeting[1:].decode('utf-8')})", LIBRARIES)
        return self._worker

    def _exchange(self, worker: "subprocess.Popen[bytes]", job: bytes | None) -> bytes:
        """Send a job, where there is one, and give the next frame of the worker."""
        assert worker.stdin is not None  # both were asked for as pipes
        assert worker.stdout is not None
        watchdog = Timer(self._timeout_s, worker.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            if job is not None:
                write_frame(worker.stdin, job)
            answer = read_frame(worker.stdout)
        except BrokenPipeError:
            answer = None
        finally:
            watchdog.cancel()
        if answer is None:
            self._stop()
            raise DependencyUnavailable("A picture", "The renderer stopped or took too long; it starts anew next time.")
        return answer

    def _stop(self) -> None:
        if self._worker is not None:
            self._ending()
            self._worker = None


def _job(structure: Structure, view: View, feature_values: Sequence[float] | None) -> bytes:
    """JSON of what the worker takes."""
    job = {
        "mmcif": structure.content.decode("utf-8"),
        "has_confidence": structure.has_confidence,
        "view": view.model_dump(mode="json"),
        "feature_values": list(feature_values or ()),
        "width": WIDTH,
        "height": HEIGHT,
    }
    return json.dumps(job).encode("utf-8")


def _end(worker: "subprocess.Popen[bytes]") -> None:
    """Kill a worker, wait for it and close its pipes."""
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()

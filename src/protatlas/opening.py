"""Opening an atlas for a command: one that the user names, or the starter atlas, which is built once."""

import logging
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from protatlas.accession_index import Progress as BytesProgress
from protatlas.app import App
from protatlas.atlas.plan import BuildPlan
from protatlas.atlas.plan import Progress as BuildProgress
from protatlas.atlas.starter import starter_plan
from protatlas.errors import ProtatlasError

LOG = logging.getLogger(__name__)


def open_now(app: App, atlas: Path | None, console: Console) -> None:
    """Open the atlas at a path, or the starter atlas after building it where it has not been built yet."""
    if atlas is not None:
        app.open(atlas)
        return
    plan = starter_plan(*app.model_ids)
    if not plan.output.exists():
        with build_progress(console) as progress:
            _build_once(app, plan, progress)
    app.open(plan.output)


def open_in_background(app: App, console: Console) -> None:
    """Open the starter atlas at once where it is built, else build it in a thread; callers are told how far it is."""
    plan = starter_plan(*app.model_ids)
    if plan.output.exists():
        app.open(plan.output)
        return
    app.wait_for("to be built first, which takes some minutes")
    threading.Thread(target=_build_and_open, args=(app, plan, console), daemon=True).start()


def _build_and_open(app: App, plan: BuildPlan, console: Console) -> None:
    try:
        with build_progress(console) as progress:

            def report(stage: str, done: int, total: int | None) -> None:
                far = f"{100 * done // total} %" if total else f"{done:,} records"
                app.wait_for(f"to be built first ({stage}: {far})")
                progress(stage, done, total)

            _build_once(app, plan, report)
        app.open(plan.output)
        LOG.info("the starter atlas is ready")
    except ProtatlasError as error:
        app.give_up(f"It could not be built: {error.message}")
        LOG.error("the starter atlas was not built: %s", error.message)


def _build_once(app: App, plan: BuildPlan, progress: BuildProgress) -> None:
    """Build the plan unless another process just did."""
    from protatlas.atlas.builder import build_atlas  # brings SciPy and Arrow, which serving does not wait for

    try:
        build_atlas(plan, encoder=app.encoder, features=app.features, progress=progress)
    except ProtatlasError:
        if not plan.output.exists():
            raise


class _RateColumn(ProgressColumn):
    """How many are done in a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


def build_progress(console: Console) -> AbstractContextManager[BuildProgress]:
    """Progress bars, one a stage of a build."""
    return _bars(console, TextColumn("{task.description:11}"), BarColumn(), MofNCompleteColumn(), _RateColumn())


def bytes_progress(console: Console) -> AbstractContextManager[BytesProgress]:
    """Progress bars in bytes, one a file."""
    return _bars(console, TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())


@contextmanager
def _bars(console: Console, *columns: ProgressColumn) -> Iterator[BuildProgress]:
    """A bar for each name that is told, with the time left at its end."""
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, TimeRemainingColumn(elapsed_when_finished=True), console=console) as bars:

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                LOG.info("building: %s", stage)
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report

"""All searches that there are: which engine takes a query, and the work of its job."""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Literal

from protatlas.blast.databases import Databases
from protatlas.blast.jobs import JobStore
from protatlas.blast.runner import Handle, Runner
from protatlas.blast.search import Engine, LocalEngines, Search
from protatlas.blast.targets import Target
from protatlas.engines.blastplus import Stopped
from protatlas.errors import DependencyUnavailable, NotFound, ProtatlasError
from protatlas.reports import Program, Report, molecules_of
from protatlas.services import ebi, ncbi
from protatlas.services.remote import RemoteBlast, RemoteQuery, SearchRunningThere

Wanted = Literal["auto", "local", "ncbi", "ebi"]
ATLAS = "atlas"
JOBS, DATABASES = "jobs.sqlite", "databases"
PATIENCE = 10
"""Polls in a row that may fail before a search is given up here; it can be taken up again by its id."""
RETRY_AFTER_S = 60.0
"""After a failure that names no time."""
IDS = {"ncbi": ncbi.RID, "ebi": ebi.JOB}
SETTINGS = {"ncbi": ("NCBI", "--ncbi-email"), "ebi": ("EMBL-EBI", "--ebi-email")}

Pause = Callable[[Event, float], object]
"""Waits for some seconds, or less when the event is set."""


class Searches:
    """Searches of an atlas, of the user's databases and at services, as jobs.

    Parameters
    ----------
    jobs
        File of the jobs.
    databases
        The user's databases.
    folder
        Where engines may keep files of an atlas.
    remotes
        Services that the operator opted in to, by engine.
    """

    def __init__(
        self,
        jobs: JobStore,
        databases: Databases,
        *,
        folder: Path,
        remotes: Mapping[str, RemoteBlast] | None = None,
        local: LocalEngines | None = None,
        pause: Pause = Event.wait,
    ) -> None:
        self.databases = databases
        self.folder = folder
        self.runner = Runner(jobs, self._work)
        self.atlas: Target | None = None
        self._remotes = dict(remotes or {})
        self._local = local or LocalEngines()
        self._pause = pause

    @classmethod
    def at(cls, folder: Path, *, remotes: Mapping[str, RemoteBlast] | None = None) -> "Searches":
        """Searches that keep their jobs, databases and files of the atlas in a folder."""
        return cls(JobStore(folder / JOBS), Databases(folder / DATABASES), folder=folder, remotes=remotes)

    def close(self) -> None:
        """End the workers and the connections."""
        self.runner.close()
        for remote in self._remotes.values():
            remote.close()

    def choose(
        self, program: Program, database: str | None, wanted: Wanted, *, letters: int
    ) -> tuple[Engine, Target | None]:
        """Engine of a search for a query of so many letters, and what it searches on this machine; null for a service.

        Raises
        ------
        InvalidInput
            The program does not search what the database holds.
        DependencyUnavailable
            An engine is not installed, or a service not switched on; the message names both ways.
        NotFound
            There is no such database here, and no service may be asked.
        """
        if wanted in ("ncbi", "ebi"):
            return self._service(wanted), None
        target = self._target(program, database)
        if target is not None:
            return self._local.choose(program, target, letters=letters), target
        if wanted == "auto" and self._remotes:
            return ("ncbi" if "ncbi" in self._remotes else "ebi"), None
        raise self._nothing_to_search(program, database)

    def fetch(self, search: str) -> Report:
        """Report of a finished search that a service knows and this machine does not.

        Raises
        ------
        NotFound
            It is no id of a service that may be asked, or the service does not know it.
        DependencyUnavailable
            It still runs there, or failed.
        """
        for engine, ids in IDS.items():
            if engine in self._remotes and ids.fullmatch(search):
                service = self._remotes[engine]
                state = service.poll(search)
                if state.phase == "running":
                    raise SearchRunningThere(SETTINGS[engine][0], search, state.ask_again_s)
                return service.fetch(search)
        raise NotFound("search", search, "the searches of this machine", "Begin it again with blast_sequence.")

    def _service(self, wanted: Engine) -> Engine:
        if wanted in self._remotes:
            return wanted
        name, setting = SETTINGS[wanted]
        raise DependencyUnavailable(
            f"BLAST at {name}",
            f"No sequence leaves this machine until the operator starts the server with {setting} and an address that "
            f"{name} may write to. Leave `engine` out to search the atlas.",
        )

    def _target(self, program: Program, database: str | None) -> Target | None:
        """What a name means on this machine; without one the atlas, for programs that search proteins."""
        if self.atlas and database in (ATLAS, self.atlas.name):
            return self.atlas
        if database is None:
            return self.atlas if molecules_of(program)[1] == "protein" else None
        return self.databases.target(database) if database in self.databases.names() else None

    def _nothing_to_search(self, program: Program, database: str | None) -> ProtatlasError:
        searched = molecules_of(program)[1]
        own = [name for name in self.databases.names() if self.databases.manifest(name).molecule == searched]
        names = ", ".join([*([ATLAS] if searched == "protein" and self.atlas else []), *own])
        there = f"There are: {names}." if names else f"There is no {searched} database yet."
        online = "The operator may add one with protatlas blastdb add, or let NCBI be asked (--ncbi-email)."
        if database is None:
            return DependencyUnavailable(f"A {searched} database for {program}", f"{there} {online}")
        return NotFound("database", database, "what can be searched here", f"{there} {online}")

    def _work(self, search: Search, handle: Handle) -> Report:
        if search.engine in self._remotes:
            return self._remote(self._remotes[search.engine], search, handle)
        if search.engine in SETTINGS:
            raise self._not_any_more(search)
        handle.message = f"{search.engine} searches {search.database}"
        return self._local.run(search, self._same_target(search), handle.stop)

    def _not_any_more(self, search: Search) -> ProtatlasError:
        try:
            self._service(search.engine)
        except DependencyUnavailable as error:
            return error
        raise AssertionError(search.engine)

    def _same_target(self, search: Search) -> Target:
        """What a search was begun on, also after a restart.

        Raises
        ------
        NotFound
            It is not there any more, or has changed.
        """
        name = search.database or ATLAS
        target = self.atlas if self.atlas and name == self.atlas.name else self.databases.target(name)
        if target.version != search.version:
            raise NotFound("database", f"{name} {search.version}", "this machine", "It has changed: search it again.")
        return target

    def _remote(self, service: RemoteBlast, search: Search, handle: Handle) -> Report:
        remote_id = handle.job.remote_id
        if remote_id is None:
            handle.message = f"{SETTINGS[search.engine][0]} is asked to search"
            handle.sending()
            remote_id = service.submit(_query(search))
            handle.sent(remote_id)
        self._wait_for(service, remote_id, search, handle)
        report = service.fetch(remote_id)
        return report.cut_to(max_evalue=search.max_evalue, limit=search.limit, asked=search.limit)

    def _wait_for(self, service: RemoteBlast, remote_id: str, search: Search, handle: Handle) -> None:
        """Poll a search until it is finished."""
        failures = 0
        while True:
            if handle.stop.is_set():
                service.cancel(remote_id)
                raise Stopped
            try:
                state = service.poll(remote_id)
                if state.phase == "finished":
                    return
                wait_s, failures, problem = state.ask_again_s, 0, ""
            except ProtatlasError as error:
                failures += 1
                if not error.retryable or failures >= PATIENCE:
                    raise
                wait_s, problem = float(error.fields.get("retry_after_s") or RETRY_AFTER_S), f" ({error.message})"
            handle.message = f"search {remote_id} runs at {SETTINGS[search.engine][0]}{problem}"
            self._pause(handle.stop, max(wait_s, handle.job.poll_s))


def _query(search: Search) -> RemoteQuery:
    return RemoteQuery(
        sequence=search.sequence,
        program=search.program,
        database=search.database,
        max_evalue=search.max_evalue,
        limit=search.limit,
        is_megablast=search.is_megablast,
    )

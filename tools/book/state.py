"""The files of a build, and which of them the next build may reuse."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jupyter_cache import get_cache

# Models as small as the book's train several times slower on two threads than on one while
# another program runs.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
# Python 3.13.0, and no later one, makes torch's compiler warn; pytest ignores it, too.
KERNELS = ONE_THREAD | {"PYTHONWARNINGS": "ignore:Guards may run slower:RuntimeWarning"}
SKIPPED = ("node_modules", "__pycache__", ".ipynb_checkpoints")
PARTS = ("html", ".doctrees", "jupyter_execute")
STAMP = ".made-from"
REPORT = "minutes.txt"  # among the doctrees: the table that `make book` prints
CLIENT = "tools/book/client.py"  # runs chapters
QUESTIONS = "questions"  # the name of the build without worked answers


def digest(root: Path, paths: Iterable[Path]) -> str:
    """A short hash of the names and contents of these files and folders."""
    files = {
        file
        for path in paths
        for file in (path.rglob("*") if path.is_dir() else [path])
        if file.is_file() and not set(SKIPPED) & set(file.parts)
    }
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def is_sound(cache: Path) -> bool:
    """Whether every stored execution can be read; a killed build may have left half of one."""
    if not cache.exists():
        return True
    store = get_cache(cache)
    try:
        for record in store.list_cache_records():
            store.get_cache_bundle(record.pk)
    except Exception:  # whatever is wrong with it, it is executed again
        return False
    finally:
        store.db.dispose()
    return True


def isolate_kernels(folder: Path) -> None:
    """Start kernels on one thread, and without the writer's IPython start-up files."""
    os.environ.update(KERNELS, IPYTHONDIR=str(folder))


def copy_build(source: Path, target: Path) -> None:
    """Replace a build by another one; the stamp is copied last."""
    for part in PARTS:
        shutil.rmtree(target / part, ignore_errors=True)
        if (source / part).exists():
            shutil.copytree(source / part, target / part)
    if (source / STAMP).exists():
        shutil.copy(source / STAMP, target / STAMP)


@dataclass(frozen=True)
class BuildFolder:
    """The build folder of the book at `root`; each kind of build has its own `name`."""

    root: Path
    name: str = ""

    @property
    def path(self) -> Path:
        """The folder of this kind of build."""
        return self.root / "_build" / self.name

    @property
    def source(self) -> Path:
        """The folder that Sphinx reads: the book's own, or one without answers."""
        return self.path / "source" if self.name == QUESTIONS else self.root

    @property
    def html(self) -> Path:
        """The site."""
        return self.path / "html"

    @property
    def doctrees(self) -> Path:
        """The parsed pages that Sphinx stores."""
        return self.path / ".doctrees"

    @property
    def stamp(self) -> Path:
        """The file that only a finished build writes: the hash of its sources."""
        return self.path / STAMP

    @property
    def executions(self) -> Path:
        """The stored executions of chapters, for this Python and this state of their imports."""
        imported = [self.root / "attnbook", self.root / "requirements.txt", self.root / CLIENT]
        folder = self.path if self.name == QUESTIONS else self.root / "_build"
        name = f"{platform.python_version()}-{digest(self.root, imported)}"
        return folder / ".executions" / name

    def digest_sources(self) -> str:
        """The hash of everything that every page depends on."""
        names = ("_config.yml", "_toc.yml", "requirements.txt", "attnbook", "tools", "img")
        return digest(self.root, [self.root / name for name in names])

    @property
    def last_good(self) -> Path:
        """The copy of the last good build, while another one runs or has failed."""
        return self.path / ".kept"

    def prepare(self) -> str:
        """Begin from the last good build, if it can be trusted.

        Returns:
            The hash of the sources of the coming build.
        """
        sources = self.digest_sources()
        good = self.stamp.exists()
        copy_build(*(self.path, self.last_good) if good else (self.last_good, self.path))
        if not self.stamp.exists() or self.stamp.read_text() != sources:
            shutil.rmtree(self.html, ignore_errors=True)
            shutil.rmtree(self.doctrees, ignore_errors=True)
        self.stamp.unlink(missing_ok=True)
        self.drop_executions()
        return sources

    def drop_executions(self) -> None:
        """Remove the executions of other states of `attnbook`, and half-written ones."""
        for cache in self.executions.parent.glob("*"):
            if cache != self.executions or not is_sound(cache):
                shutil.rmtree(cache)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Wait until no other build runs here; the system unlocks the folder of a killed one."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.root / "_build" / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("Another build is running in this folder; waiting for it.", flush=True)
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def build_folder_of(source: Path, *, answers: bool) -> BuildFolder:
    """The build folder to which the folder that Sphinx reads belongs."""
    return BuildFolder(source) if answers else BuildFolder(source.parents[2], QUESTIONS)

"""What a build leaves behind, and how far the next one may trust it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jupyter_cache import get_cache

# Models as small as the book's train several times slower on two threads than on one, once
# another program is at work.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
SKIPPED = ("node_modules", "__pycache__", ".ipynb_checkpoints")
PARTS = ("html", ".doctrees", "jupyter_execute")
STAMP = ".made-from"
REPORT = "minutes.txt"  # among the doctrees: the table that `make book` prints
QUESTIONS = "questions"  # the kind of build that has no worked answers


def digest(root: Path, paths: Iterable[Path]) -> str:
    """A short name for the contents of these files and folders, wherever they lie."""
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
    except Exception:  # whatever is wrong with it, it is made anew
        return False
    finally:
        store.db.dispose()
    return True


def isolate_kernels(folder: Path) -> None:
    """Keep a writer's own IPython start-up files, and kernels' notices on TCP, out of the book.

    Kernels that start afterwards compute on one thread.
    """
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n")
    os.environ.update(ONE_THREAD, IPYTHONDIR=str(folder))


def copy_build(source: Path, target: Path) -> None:
    """Let a folder hold what a build left in another; the stamp comes last."""
    for part in PARTS:
        shutil.rmtree(target / part, ignore_errors=True)
        if (source / part).exists():
            shutil.copytree(source / part, target / part)
    if (source / STAMP).exists():
        shutil.copy(source / STAMP, target / STAMP)


@dataclass(frozen=True)
class Workshop:
    """The build folder of the book at `root`; `name` keeps kinds of builds apart."""

    root: Path
    name: str = ""

    @property
    def folder(self) -> Path:
        """Where this kind of build keeps all it makes."""
        return self.root / "_build" / self.name

    @property
    def source(self) -> Path:
        """The folder that Sphinx reads: the book's own, or one without answers."""
        return self.folder / "source" if self.name == QUESTIONS else self.root

    @property
    def html(self) -> Path:
        """The site."""
        return self.folder / "html"

    @property
    def doctrees(self) -> Path:
        """What Sphinx remembers of the pages that it read."""
        return self.folder / ".doctrees"

    @property
    def stamp(self) -> Path:
        """The file that only a finished build leaves: what the site was made from."""
        return self.folder / STAMP

    @property
    def executions(self) -> Path:
        """The executed chapters, kept for this state of what they import."""
        imported = [self.root / "attnbook", self.root / "requirements.txt"]
        folder = self.folder if self.name == QUESTIONS else self.root / "_build"
        return folder / ".executions" / digest(self.root, imported)

    def ingredients(self) -> str:
        """What every page depends on, in one word."""
        names = ("_config.yml", "_toc.yml", "requirements.txt", "attnbook", "tools", "img")
        return digest(self.root, [self.root / name for name in names])

    @property
    def kept(self) -> Path:
        """What the last good build made, while another is at work or has failed."""
        return self.folder / ".kept"

    def prepare(self) -> str:
        """Begin from the last good build, if it can be trusted.

        Returns:
            what the coming build is made from.
        """
        ingredients = self.ingredients()
        good = self.stamp.exists()
        copy_build(*(self.folder, self.kept) if good else (self.kept, self.folder))
        if not self.stamp.exists() or self.stamp.read_text() != ingredients:
            shutil.rmtree(self.html, ignore_errors=True)
            shutil.rmtree(self.doctrees, ignore_errors=True)
        self.stamp.unlink(missing_ok=True)
        self.drop_executions()
        return ingredients

    def drop_executions(self) -> None:
        """Remove the executions of other states of `attnbook`, and half-written ones."""
        for cache in self.executions.parent.glob("*"):
            if cache != self.executions or not is_sound(cache):
                shutil.rmtree(cache)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other build works here; the system frees a killed one's place."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.root / "_build" / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("Another build is at work here; waiting for it.", flush=True)
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def workshop_of(source: Path, *, answers: bool) -> Workshop:
    """The build folder to which the folder that Sphinx reads belongs."""
    return Workshop(source) if answers else Workshop(source.parents[2], QUESTIONS)

"""Tools that build, test and publish the book; attnbook does not need them."""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUDGETS: dict[str, Any] = tomllib.loads((ROOT / "tools" / "budgets.toml").read_text("utf-8"))
FOLDERS = ("attnbook", "chapters", "tests", "tools", "img")


def project_files(root: Path = ROOT) -> list[Path]:
    """The files that git tracks or would track; without git, those of the source folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    paths = [root / name for name in done.stdout.decode().split("\0") if name] or [
        path
        for start in (root.glob("*"), *((root / folder).rglob("*") for folder in FOLDERS))
        for path in start
        if "node_modules" not in path.parts
    ]
    return [path for path in paths if path.is_file()]

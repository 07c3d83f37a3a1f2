"""A copy of a site whose pages store their errors, for an engine without console messages."""

from __future__ import annotations

from pathlib import Path

# Runs before all other scripts: stores errors of scripts, missing files, and refusals.
WATCH = """<script>
window.complaints = [];
for (const level of ["warn", "error"]) {
  const log = console[level];
  console[level] = (...words) => {
    complaints.push(`${level}: ${words.join(" ")}`);
    log.apply(console, words);
  };
}
addEventListener("error", (event) => {
  complaints.push(`error: ${event.message || event.target.src || event.target.href}`);
}, true);
addEventListener("unhandledrejection", (event) => complaints.push(`error: ${event.reason}`));
addEventListener("securitypolicyviolation", (event) => complaints.push(event.blockedURI));
</script>
"""
# Denies storage, as a browser does whose reader has blocked it.
DENY = """<script>for (const name of ["localStorage", "sessionStorage"])
Object.defineProperty(window, name, { configurable: true, get() { throw Error("denied"); } });
</script>"""
# Shows a page as wide as a phone, in an engine whose window cannot be so narrow.
PHONE = """<!DOCTYPE html><html lang="en"><title>Phone</title><link rel="icon" href="data:,">
<iframe style="border: 0" title="phone"></iframe></html>"""


def watched_page(html: str) -> str:
    """A page that stores its errors from its first line on."""
    before, head, after = html.partition("<head>")
    if not head:
        before, head, after = html.partition(">")  # of its doctype
    return f"{before}{head}\n{WATCH}{after}"


def watched_copy(site: Path, folder: Path) -> Path:
    """Copy the site into another folder: pages are written again, other files are links."""
    for path in site.rglob("*"):
        copy = folder / path.relative_to(site)
        if path.is_dir():
            copy.mkdir()
        elif path.suffix == ".html":
            copy.write_text(watched_page(path.read_text("utf-8")), "utf-8")
        else:
            copy.symlink_to(path)
    (folder / "phone.html").write_text(PHONE, "utf-8")
    return folder

"""The Sphinx extension of the book's site: what runs when, and what its rooms add to Sphinx."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature

import nbclient.client
from sphinx.application import Sphinx

from tools.book.client import ChapterClient
from tools.book.keys import KeyRole
from tools.site.assets import finish, icons, page_files
from tools.site.chapter import (
    accessibility,
    answers,
    code_cells,
    deeper,
    execution,
    formulas,
    header,
    lines,
    minutes,
    path,
    tables,
)
from tools.site.figures import lazy_scripts, live
from tools.site.page_tree import Divider
from tools.site.publish import descriptions, publishing, redirects, sharing, take_along
from tools.site.reference import api, api_entries, cheat_sheet, terms
from tools.site.search import parts

Listener = Callable[..., object]
EXTENSIONS, THEME = "extensions", "theme"
# All that runs, in its order: by event, with the names of what Sphinx passes, from which a function
# takes what it needs. It runs after the other extensions and before the theme, unless it is listed
# before EXTENSIONS or after THEME.
EVENTS: dict[tuple[str, ...], list[Listener | str]] = {
    ("config-inited", "app", "config"): [
        sharing.describe_site,
        redirects.read_redirects,
        publishing.describe_origin,
        take_along.add_fold,
        execution.use_executions_of_make,
    ],
    ("builder-inited", "app"): [formulas.copy_style, publishing.drop_addresses],
    # napoleon, an extension, reads the sections of a docstring.
    ("autodoc-process-docstring", "app", "what", "name", "thing", "options", "lines"): [
        api_entries.write_entry,
        EXTENSIONS,
    ],
    ("autodoc-process-signature", "app", "what", "name", "thing", "options", "text", "returns"): [
        api_entries.shorten_signatures
    ],
    ("object-description-transform", "app", "domain", "kind", "content"): [
        api_entries.shorten_heading
    ],
    ("doctree-read", "app", "tree"): [
        code_cells.show_tagged,
        live.replace_widgets,
        answers.fold_answers,
        deeper.place_divider,
        minutes.count_page,  # once the answers are folded and the divider has its place
        deeper.check_core,
        path.store_items,
    ],
    ("env-updated", "app", "env"): [
        deeper.check_path,
        lazy_scripts.write_scripts,
        live.write_modules,
        minutes.pages_to_write,
        path.pages_to_write,
        terms.collect_meanings,
    ],
    ("env-check-consistency", "app", "env"): [api_entries.check_explained],
    ("doctree-resolved", "app", "tree", "page"): [
        code_cells.link_to_notebook,
        deeper.check_links,
        live.check_no_view_is_left,
        path.write_lists,
        tables.stack_wide_tables,
        accessibility.check_pictures,
        deeper.fold_sections,
    ],
    ("html-page-context", "app", "page", "template", "context", "tree"): [
        cheat_sheet.add_style,
        terms.write,
        EXTENSIONS,
        descriptions.add_description,
        page_files.choose_files,  # by what is on the page: terms.js only where a link has a meaning
        path.name_page,
        header.describe_page,  # before the theme, which leaves out what is empty by then
        sharing.introduce,
        sharing.fill_lost_page,
        redirects.redirect_sections,
        tables.break_names,
        lines.keep_together,
        accessibility.drop_citation_roles,
        accessibility.drop_empty_headers,
        accessibility.drop_lists_of_arguments,
        THEME,  # begins the list of buttons, and adds what makes the sidebar
        publishing.add_colab_button,
        accessibility.name_toggles,
    ],
    ("build-finished", "app", "error"): [
        take_along.forget_zip,
        deeper.write_report,
        sharing.write_lists,
        parts.write_parts,
        icons.shrink_icons,
        redirects.write_pages,
        THEME,  # writes its colors for code
        finish.finish,
        cheat_sheet.finish,  # prints a page with the finished style
        take_along.finish,
    ],
}


def with_names(function: Listener, names: Sequence[str]) -> Listener:
    """A function for an event, which is called with what it names of what Sphinx passes."""

    @wraps(function)
    def listen(*arguments: object) -> object:
        passed = dict(zip(names, arguments, strict=True))
        if passed.get("error"):
            return None  # nothing finishes a build that failed
        return function(**{name: passed[name] for name in signature(function).parameters})

    return listen


def connect(app: Sphinx, events: Mapping[tuple[str, ...], Sequence[Listener | str]]) -> None:
    """Connect what runs at events; other extensions and the theme have Sphinx's priority, 500."""
    for (event, *names), listeners in events.items():
        priority = 400 if EXTENSIONS in listeners else 500
        for listener in listeners:
            if isinstance(listener, str):
                priority += 100
            else:
                app.connect(event, with_names(listener, names), priority)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add all directives, nodes, roles and settings, and connect what runs.

    Raises:
        ConfigError: the environment's address of the site is not valid.
        ExtensionError: the package is not installed.
    """
    execution.need_package()
    nbclient.client.NotebookClient = ChapterClient  # type: ignore[misc]
    if publishing.site_address():
        app.setup_extension("notfound.extension")  # gives lost readers a page
    app.add_directive("api-first", api.FirstNames)
    app.add_directive("api-index", api.AllNames)
    app.add_directive("deeper", deeper.Deeper)
    app.add_directive("path", path.PathDirective)
    app.add_role("explained", api_entries.explained_role)
    app.add_role("key", KeyRole())
    app.add_node(Divider, html=(deeper.write_divider, None))
    app.add_node(deeper.Fold, html=(deeper.open_fold, deeper.close_fold))
    app.add_node(path.ChapterList)
    app.add_html_math_renderer(
        "katex", (formulas.visit_inline, None), (formulas.visit_display, None)
    )
    # A draft's pages contain nothing that a commit changes, so that none is written again for it.
    app.add_config_value("book_draft", default=False, rebuild="")
    app.add_config_value("book_answers", default=True, rebuild="env")
    app.add_config_value("book_zip", default=False, rebuild="")
    app.add_config_value("book_redirects", {}, rebuild="html", types=[dict])
    connect(app, EVENTS)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""A reader who does random things with two tasks in two tabs."""

from __future__ import annotations

import random

from attnbook.practice import LIST_TASKS
from tests.tools.site.site_checks import watch_page

NAMES = ("softmax-by-hand", "masked-softmax-by-hand")
FRONT = (
    "dispatchEvent(new Event('focus'))"  # a headless tab does not notice that it is in the front
)
TEXT = """figure => {
    const lines = [...figure.querySelectorAll('.cm-line')];
    return lines.length ? lines.map(line => line.textContent).join('\\n')
        : figure.querySelector('textarea').value;
}"""


class Reader:
    """Two tabs, and the code that they must show."""

    def __init__(self, context, address, seed):
        self.random = random.Random(seed)  # noqa: S311 - no secret
        self.address = address
        self.tabs, self.records = zip(*(watch_page(context) for _ in range(2)), strict=True)
        for tab in self.tabs:
            tab.goto(address)
        self.tab = self.tabs[0]
        self.texts = {name: LIST_TASKS[name].starter for name in NAMES}
        self.earlier = dict.fromkeys(NAMES)  # what "Bring back" restores
        self.typed = 0

    def step(self):
        """Do a random action at one of the tasks or with a tab, and return its name."""
        number = self.random.randrange(len(NAMES))
        actions = [self.type, self.type, self.type, self.replace, self.start_again]
        actions += [self.bring_back, self.run, self.reload, self.switch, self.leave_and_return]
        action = self.random.choice(actions)
        action(self.tab.locator("figure.code").nth(number), NAMES[number])
        return action.__name__, NAMES[number]

    def marker(self):
        self.typed += 1
        return f"# {self.typed}"

    def type(self, figure, name):
        """Type at the end of the code."""
        field = figure.locator("textarea, .cm-content")
        field.click()
        editor = figure.locator(".cm-content")
        editor.wait_for()
        editor.press("ControlOrMeta+End")
        marker = self.marker()
        self.tab.keyboard.insert_text(marker)
        self.texts[name] += marker

    def replace(self, figure, name):
        figure.locator("textarea, .cm-content").click()
        editor = figure.locator(".cm-content")
        editor.wait_for()
        editor.press("ControlOrMeta+a")
        self.texts[name] = self.marker()
        self.tab.keyboard.insert_text(self.texts[name])

    def start_again(self, figure, name):
        figure.get_by_role("button", name="Start again").click()
        if self.texts[name] != LIST_TASKS[name].starter:
            self.earlier[name] = self.texts[name]
        self.texts[name] = LIST_TASKS[name].starter

    def bring_back(self, figure, name):
        button = figure.get_by_role("button", name="Bring back")
        assert button.is_visible() == (self.earlier[name] is not None)
        if self.earlier[name] is None:
            return
        button.click()
        now, starter = self.texts[name], LIST_TASKS[name].starter
        self.texts[name] = self.earlier[name]
        self.earlier[name] = None if now == starter else now

    def run(self, figure, _):
        figure.get_by_role("button", name="Run").click()

    def reload(self, *_):
        self.tab.reload()

    def switch(self, *_):
        self.tab = self.tabs[1 - self.tabs.index(self.tab)]
        self.tab.bring_to_front()
        self.tab.evaluate(FRONT)

    def leave_and_return(self, *_):
        self.tab.goto(self.address.replace("tasks", "none"))
        self.tab.go_back()

    def code_in_tabs(self):
        """The code that both tabs show."""
        return [
            {name: figure.evaluate(TEXT) for name, figure in zip(NAMES, tasks_of(tab), strict=True)}
            for tab in self.tabs
        ]

    def wait(self):
        """Wait until both tabs show the newest code."""
        for tab in self.tabs:
            for name, figure in zip(NAMES, tasks_of(tab), strict=True):
                both = [figure.element_handle(), self.texts[name]]
                tab.wait_for_function(f"([figure, text]) => ({TEXT})(figure) === text", arg=both)


def tasks_of(tab):
    """The tasks of a page, once they are live."""
    tab.locator("figure.code").nth(len(NAMES) - 1).wait_for()
    return tab.locator("figure.code").all()

"""The module `typing` of a page's Python, which reads no annotations: each name is any type."""


class _Type:
    def __getitem__(self, _: object) -> "_Type":
        return self

    def __call__(self, *arguments: object) -> object:
        """`cast(int, x)` gives x, `NewType("Id", int)` int."""
        return arguments[-1]


def __getattr__(_: str) -> "_Type":
    return _Type()

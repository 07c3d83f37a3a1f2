"""The module `typing` of a page's Python, which reads no annotations: each name is any type."""


class _Type:
    def __getitem__(self, _: object) -> "_Type":
        return self

    def __call__(self, *arguments: object) -> object:
        """`cast(int, x)` gives x, `NewType("Id", int)` int."""
        return arguments[-1]


# What a class is made from, not only an annotation.
_BASES = ("Generic", "NamedTuple", "Protocol", "TypedDict")


def __getattr__(name: str) -> "_Type":
    if name in _BASES:
        raise ImportError(f"can't import name {name}")
    return _Type()

"""Properties whose values are names of Java classes, with or without the package."""

from penstock.rules import Rule

__all__ = ["one_class"]


def one_class(packages: tuple[str, ...], names: tuple[str, ...], otherwise: str) -> Rule:
    """Return a rule that accepts one of these classes, and removes the package.

    Args:
        packages: the packages in which a class may be, each with a trailing dot.
        names: the names of the classes; the value of the property is one of them.
        otherwise: remedy for other classes, for the message.
    """

    def known(name: str) -> str:
        package, dot, plain = name.rpartition(".")
        if plain not in names or (dot and f"{package}." not in packages):
            raise ValueError(f"String must be one of: {', '.join(names)}; {otherwise}")
        return plain

    return Rule(known, ", ".join(names), values=names)

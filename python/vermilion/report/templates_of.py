"""Jinja2 environment of the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE: Final = "vermilion.report"


def templates_of(package: str) -> Environment:
    """Return the templates of a package together with those of this one, like the style sheet.

    What is filled in is escaped unless it is marked as safe, and a name that nobody has filled in
    is an error.

    Args:
        package: like "vermilion.advise".
    """
    from jinja2 import (
        ChoiceLoader,
        Environment,
        PackageLoader,
        StrictUndefined,
        select_autoescape,
    )

    from vermilion.report.numbers import typeset

    packages = dict.fromkeys((package, _HERE))
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in packages]),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"typeset": typeset, "zip": zip}
    return environment


def render_page(template: str, **values: object) -> str:
    """Fill in one of this package's templates."""
    return templates_of(_HERE).get_template(template).render(**values)

"""Reading HTML as a browser would, for tests."""

from __future__ import annotations

from html.parser import HTMLParser

VOID_ELEMENTS = {"br", "link", "meta"}


class Page(HTMLParser):
    """Fails on elements that are closed in the wrong order; collects texts, ids and table rows."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.ids, self.rows, self.references = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_startendtag(self, _tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]
        self.references += [
            value for name, value in attributes if name in {"href", "src", "xlink:href"}
        ]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)
        if self.open and self.open[-1] in {"td", "th"}:
            self.rows[-1][-1] += text

    def row(self, label):
        """The cells of the first row with this label."""
        return next(cells for first, *cells in self.rows if first == label)

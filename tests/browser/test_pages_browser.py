"""Pages in a real Chromium: nothing of a table is out of sight on an ordinary screen."""

from test_live_page_browser import chromium  # noqa: F401 - a fixture

from vermilion.report.templates_of import templates_of
from vermilion.simulate.tables import Section, ShownTable

HEADINGS = ("incumbent", "best found", "drop-tail, limit 5 packets*", "PIE, target 15 ms*")
ROWS = [
    ("p95 delay (goodput at least 98 % of now) (ms)", ["287.3 ± 0.5"] * 4),
    ("improvement", ["", "68.7% [68.7%, 68.8%]", "", ""]),
    ("slowest flow, of the mean", ["0.085 ± 0.00039"] * 4),
]

WORDS = ("version", "title", "headline", "reason", "figure", "caption")


def test_no_rival_of_a_tuned_setting_is_cut_off(chromium, tmp_path):  # noqa: F811 - a fixture of that name
    table = ShownTable("home.toml", HEADINGS, [Section("on fresh seeds", ROWS)]).html()
    page = tmp_path / "tuned.html"
    template = templates_of("vermilion.report").get_template("tuned.html.j2")
    page.write_text(template.render(dict.fromkeys(WORDS, "Home"), tables=table), encoding="utf-8")
    chromium.set_window_size(1280, 1000)
    chromium.get(page.as_uri())
    box = "document.querySelector('.numbers')"
    hidden = f"return {box}.scrollWidth - {box}.clientWidth"
    assert chromium.execute_script(hidden) <= 0

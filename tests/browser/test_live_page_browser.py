"""The live page in a real Chromium: what a person sees, and does with a keyboard or a phone.

With ``VERMILION_SCREENSHOTS`` set to a folder, pictures are left there; those of the documentation
are made like that.
"""

import base64
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from journal_of_looks import book, looks
from test_live_page import serve
from vermilion.online.entries import Decision, DecisionKind, SettingInForce
from vermilion.online.sense.sampler import FlowShares

PATIENCE_S = 30


@pytest.fixture(scope="module")
def chromium():
    """A browser for all tests; an error on its console fails the test that caused it."""
    options = Options()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    yield browser
    browser.quit()


class Page:
    """The page of a journal in the browser."""

    def __init__(self, browser, path, token_file):
        self.browser = browser
        self.path = path
        self.token_file = token_file
        self.process, self.port, self.token = serve(path, token_file=token_file)
        browser.get_log("browser")
        browser.get(f"http://127.0.0.1:{self.port}/?token={self.token}")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def start_again(self):
        self.process, _, _ = serve(self.path, self.port, self.token_file)

    def text(self, name):
        return self.browser.find_element(By.ID, name).text

    def wait_for(self, words, name="title"):
        """Waits until an element holds these words, for as long as a busy machine may take."""
        WebDriverWait(self.browser, PATIENCE_S, 0.05).until(
            lambda _: words in self.text(name), f"{words!r} is not in {name}: {self.text(name)!r}"
        )

    def complaints(self):
        """What the browser complains of; a server that is gone is a test's own doing."""
        return [
            entry["message"]
            for entry in self.browser.get_log("browser")
            if entry["level"] == "SEVERE" and "net::ERR_" not in entry["message"]
        ]

    def picture(self, name):
        folder = os.environ.get("VERMILION_SCREENSHOTS")
        if folder:
            self.browser.save_screenshot(str(Path(folder) / f"{name}.png"))


@pytest.fixture
def show(chromium, tmp_path):
    """Opens the page of a journal; afterwards nothing may have gone wrong in the browser."""
    token_file = tmp_path / "token"
    token_file.write_text("sixteen-characters-at-least\n", encoding="ascii")
    token_file.chmod(0o600)
    pages = []

    def opened(path):
        pages.append(Page(chromium, path, token_file))
        return pages[-1]

    yield opened
    complaints = [page.complaints() for page in pages]
    chromium.get("about:blank")
    for page in pages:
        page.stop()
    assert complaints == [[] for _ in pages]
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.fixture
def journal(tmp_path):
    """Of a controller that runs: a minute, three decisions, a setting."""
    with book(tmp_path / "j.sqlite") as journal:
        looks(journal, 1, 300)
        looks(journal, 301, 600, backlog_packets=30, backlog_bytes=45_000, drops=1)
        journal.keep(Decision(0.1, DecisionKind.START, "<i>it</i> begins", {}))
        promise = {"predicted_mean": 29.0, "predicted_sd": 3.0}
        journal.keep(Decision(29.0, DecisionKind.TUNED, "250 settings tried", promise))
        journal.keep(Decision(30.0, DecisionKind.APPLIED, "it is better", {}))
        journal.keep(SettingInForce(30.0, {"min_threshold": 12.5, "ecn": False}))
        yield journal


def test_it_shows_a_running_controller_and_what_comes(show, journal, tmp_path):
    page = show(tmp_path / "j.sqlite")
    page.wait_for("linux:eth0")
    assert "token" not in page.browser.current_url
    page.wait_for("30.0 packets", "tiles")
    assert "300 ms" in page.text("tiles")  # 45,000 bytes wait and 150,000 leave in a second
    assert "verifying the new setting" in page.text("state")
    assert "<i>it</i> begins" in page.text("log")
    assert page.text("log").index("it is better") < page.text("log").index("begins")
    assert "min_threshold 12.5" in page.text("setting")
    looks(journal, 601, 620, backlog_packets=60, backlog_bytes=90_000)
    journal.keep(Decision(62.0, DecisionKind.ROLLED_BACK, "it is worse", {}))
    page.wait_for("it is worse", "log")
    page.wait_for("60.0 packets", "tiles")
    assert "taken back" in page.text("state")


def test_what_came_while_the_server_was_away_is_there_afterwards(show, journal, tmp_path):
    page = show(tmp_path / "j.sqlite")
    page.wait_for("30.0 packets", "tiles")
    page.stop()
    page.wait_for("not connected; trying again", "badge")
    looks(journal, 601, 650, backlog_packets=5)
    journal.keep(Decision(65.0, DecisionKind.KEPT, "decided meanwhile", {}))
    page.start_again()
    page.wait_for("decided meanwhile", "log")
    page.wait_for("5.00 packets", "tiles")
    times = page.browser.execute_script("return page.live.time_s")
    assert times == [0.5 * half for half in range(1, 131)]  # nothing is missing or twice
    assert page.text("log").count("it is better") == 1


def test_a_stretch_is_looked_at_and_left_with_the_keyboard(show, journal, tmp_path):
    page = show(tmp_path / "j.sqlite")
    page.wait_for("live", "shown")
    whole = page.browser.find_element(By.XPATH, "//button[text()='whole run']")
    whole.send_keys(Keys.ENTER)
    WebDriverWait(page.browser, PATIENCE_S).until(
        lambda _: whole.get_attribute("aria-pressed") == "true"
    )
    assert "live" not in page.text("shown")
    minute = page.browser.find_element(By.XPATH, "//button[text()='1 min']")
    minute.send_keys(Keys.SPACE)
    page.wait_for("live", "shown")
    assert journal.run == 1


def test_everything_has_a_name_for_who_cannot_see_it(show, journal, tmp_path):
    page = show(tmp_path / "j.sqlite")
    page.wait_for("30.0 packets", "tiles")
    tree = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if node["role"]["value"] in {"button", "img", "image", "link", "combobox", "heading"}
        and not node.get("ignored")
    ]
    assert len(named) > 10
    assert all(name.strip() for _, name in named), named
    assert any("Queue: on average 20" in name for _, name in named), named
    assert journal.run == 1


def test_fairness_has_a_tile_a_chart_and_words(show, journal, tmp_path):
    page = show(tmp_path / "j.sqlite")
    page.wait_for("nobody sees single flows", "tiles")
    chart = page.browser.find_element(By.XPATH, "//h3[starts-with(text(), 'Fairness')]")
    assert not chart.is_displayed()
    journal.keep(FlowShares(60.0, "", 18.0, 4, 2, 4, 0.83, 0.55, 0.05))
    looks(journal, 601, 610)
    page.wait_for("0.83", "tiles")
    assert "4 flows got 5.0 to 55 % each; alike: 25 %" in page.text("tiles")
    assert "nothing seen lately of 2 of them" in page.text("tiles")
    WebDriverWait(page.browser, PATIENCE_S).until(lambda _: chart.is_displayed())
    [name] = [
        each.get_attribute("aria-label")
        for each in page.browser.find_elements(By.CSS_SELECTOR, "[role=img]")
        if each.get_attribute("aria-label").startswith("Fairness")
    ]
    assert "on average 0.83 Jain's index" in name


def test_it_fits_a_phone_and_follows_the_dark(show, journal, tmp_path):
    page = show(tmp_path / "j.sqlite")
    page.browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True},
    )
    page.browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    page.browser.refresh()
    page.wait_for("30.0 packets", "tiles")
    width = page.browser.execute_script("return document.documentElement.scrollWidth")
    assert width == 390
    paper = page.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(21, 24, 27)"
    page.picture("live_page_phone")
    assert journal.run == 1


def test_it_can_be_printed(show, journal, tmp_path):
    page = show(tmp_path / "j.sqlite")
    page.wait_for("30.0 packets", "tiles")
    printed = page.browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert base64.b64decode(printed).startswith(b"%PDF-")
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not page.browser.find_element(By.ID, "range").is_displayed()
    assert page.browser.find_element(By.ID, "log").is_displayed()
    assert journal.run == 1


def test_a_journal_without_a_run_and_a_run_without_a_look_have_words(show, tmp_path):
    path = tmp_path / "j.sqlite"
    book(path).close()
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM run")
    page = show(path)
    page.wait_for("No controller has run yet")
    with book(path) as journal:
        page.wait_for("linux:eth0")
        page.wait_for("starting", "state")
        assert page.browser.find_element(By.ID, "none").is_displayed()
        looks(journal, 1, 10)
        page.wait_for("10.0 packets", "tiles")
    page.wait_for("ended", "badge")


def test_one_of_several_runs_is_chosen(show, tmp_path):
    path = tmp_path / "j.sqlite"
    for number, packets in enumerate((7, 9), start=1):
        with book(path, network=f"seed {number}") as journal:
            looks(journal, 1, 10, backlog_packets=packets)
    page = show(path)
    page.wait_for("9.00 packets", "tiles")
    page.browser.find_element(By.ID, "run").send_keys("1")
    page.wait_for("7.00 packets", "tiles")
    page.wait_for("run 1 of the journal", "about")


def test_a_page_that_stays_open_keeps_no_more_than_it_shows(show, journal, tmp_path):
    page = show(tmp_path / "j.sqlite")
    page.wait_for("30.0 packets", "tiles")
    database = journal._database
    for begin in range(601, 20_000, 4000):
        database.execute("BEGIN")
        looks(journal, begin, begin + 3999, backlog_packets=40)
        for number in range(60):
            journal.keep(Decision(begin / 10, DecisionKind.KEPT, f"number {number}", {}))
        database.execute("COMMIT")
        page.wait_for(f"at {page.browser.execute_script(CLOCK, (begin + 3999) / 10)}", "when")
    kept = page.browser.execute_script(
        "return [page.live.time_s.length, page.decisions.length,"
        " document.querySelectorAll('#log li').length]"
    )
    assert kept[0] <= 1300
    assert kept[1:] == [200, 200]


def test_a_whole_run_of_the_controller_is_shown(chromium, show, tmp_path):
    path = tmp_path / "j.sqlite"
    command = ("online", "oscillating-red", "--seeds=1", "--clock=fixed", f"--journal={path}")
    subprocess.run([sys.executable, "-m", "vermilion", *command], check=True, capture_output=True)
    chromium.set_window_size(1100, 1450)
    page = show(path)
    page.wait_for("ended", "badge")
    with sqlite3.connect(path) as database:
        [(decisions,)] = database.execute("SELECT count(*) FROM decision")
        [(last,)] = database.execute("SELECT reason FROM decision ORDER BY id DESC LIMIT 1")
    assert len(page.browser.find_elements(By.CSS_SELECTOR, "#log li")) == decisions
    assert last in page.text("log")
    page.picture("live_page")
    chromium.set_window_size(1280, 1000)


def test_a_whole_run_of_four_queues_is_shown(chromium, show, tmp_path):
    path = tmp_path / "j.sqlite"
    command = ("online", "four-red-queues", "--clock=fixed", "--set", "duration=25 s")
    command += ("--set", "warm_up=1 s", f"--journal={path}")
    subprocess.run([sys.executable, "-m", "vermilion", *command], check=True, capture_output=True)
    chromium.set_window_size(1100, 1250)
    page = show(path)
    page.wait_for("ended", "badge")
    page.wait_for("fourth", "each")
    names = [each.text for each in chromium.find_elements(By.CSS_SELECTOR, "#each button")]
    assert names == ["first", "second", "third", "fourth"]
    with sqlite3.connect(path) as database:
        worst = database.execute(
            "SELECT min(jain_index) FROM flow_shares GROUP BY time_s ORDER BY time_s DESC LIMIT 3"
        ).fetchall()
    # The tile has the mean of the last four points, half a second each; the controller says it once
    # a second, and what was said last stands.
    (last,), (before,), (earlier,) = worst
    assert f"{(last + 2 * before + earlier) / 4:.2f}" in page.text("tiles")
    page.picture("live_page_queues")
    chromium.set_window_size(1280, 1000)


CLOCK = "return clock(Math.floor(arguments[0] * 2) / 2)"

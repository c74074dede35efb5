"""Answering on the live page in a real Chromium: with a mouse, a keyboard, and a screen reader."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from test_live_page_browser import PATIENCE_S, Page, chromium

from journal_of_looks import book
from test_live_page_answers import Asking, set_sample
from vermilion.online.entries import Decision, DecisionKind, SettingInForce
from vermilion.online.events import Command
from vermilion.online.sense.sampler import FlowShares

__all__ = ["chromium"]


class Answering(Page):
    """The page of a controller that asks, in the browser."""

    def __init__(self, browser, there):
        self.browser = browser
        self.there = there
        browser.get_log("browser")
        browser.get(there.page.address)

    def stop(self):
        self.there.close()

    def button(self, verb):
        return self.browser.find_element(By.CSS_SELECTOR, f"#asks button[data-verb={verb}]")

    def wait_until(self, what):
        WebDriverWait(self.browser, PATIENCE_S, 0.05).until(lambda _: what())


@pytest.fixture
def show(chromium, tmp_path):
    pages = []

    def opened(**more):
        pages.append(Answering(chromium, Asking(tmp_path / "j.sqlite", **more)))
        return pages[-1]

    yield opened
    complaints = [page.complaints() for page in pages]
    chromium.get("about:blank")
    for page in pages:
        page.stop()
    assert complaints == [[] for _ in pages]
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_a_proposal_is_applied_by_one_click_and_only_once(show):
    page = show()
    page.wait_for("proposal 7: less waiting", "proposal-reason")
    assert "min_threshold 5 12.5" in page.text("proposal-setting")
    assert page.browser.title.startswith("(1) ")
    button = page.button("accept")
    assert button.text == "Apply proposal 7"
    ActionChains(page.browser).double_click(button).perform()
    page.wait_for("Sent. The controller will answer below.", "asks-said")
    assert not button.is_enabled()
    assert not page.button("decline").is_enabled()
    assert page.there.said() == [Command("accept", 7)]
    page.there.decide(DecisionKind.APPLIED, "it is better")
    page.there.journal.keep(SettingInForce(1.0, {"min_threshold": 12.5, "weight": 0.002}))
    page.wait_for("it is better", "change-said")
    assert not page.browser.find_element(By.ID, "proposal").is_displayed()
    assert page.button("undo").is_enabled()


def test_a_change_is_taken_back_and_the_next_proposal_can_be_answered(show):
    page = show()
    page.there.decide(DecisionKind.APPLIED, "it is better")
    page.wait_for("it is better", "change-said")
    page.button("undo").click()
    page.wait_for("Sent", "asks-said")
    assert page.there.said() == [Command("undo")]
    page.there.decide(DecisionKind.ROLLED_BACK, "a person has taken the last change back")
    page.wait_for("a person has taken the last change back", "log")
    page.wait_until(lambda: not page.button("undo").is_displayed())
    page.there.propose(9)
    page.wait_for("proposal 9", "proposal-reason")
    assert page.button("decline").is_enabled()


def test_a_keyboard_is_enough(show):
    page = show()
    page.wait_for("proposal 7", "proposal-reason")
    page.browser.execute_script(
        "document.getElementById('asked').tabIndex = -1;document.getElementById('asked').focus()"
    )
    page.browser.switch_to.active_element.send_keys(Keys.TAB)
    assert page.browser.switch_to.active_element.text == "Apply proposal 7"
    page.browser.switch_to.active_element.send_keys(Keys.TAB)
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait_for("Sent", "asks-said")
    assert page.there.said() == [Command("decline", 7)]
    page.there.decide(DecisionKind.DECLINED, "proposal 7 was declined")
    page.wait_until(lambda: page.button("pause").is_enabled())
    page.button("pause").send_keys(Keys.SPACE)
    assert page.there.said() == [Command("pause")]
    page.there.decide(
        DecisionKind.PAUSED, "a person has asked that nothing be changed", {"by": "a person"}
    )
    page.wait_for("Paused: the controller changes nothing", "asks-said")
    page.wait_until(lambda: page.button("resume").is_enabled())
    page.button("resume").click()
    assert page.there.said() == [Command("resume")]


def test_a_queue_that_somebody_else_has_set_can_be_given_back(show):
    page = show()
    page.wait_for("Proposal 7 waits for you.", "asks-said")
    words = "somebody else has set limit to 60; the queue is left alone until a person says so"
    page.there.decide(DecisionKind.HANDS_OFF, words, {"changed": {"limit": 60}})
    page.wait_for("Hands off: somebody else has set limit to 60.", "asks-said")
    assert not page.button("pause").is_displayed()
    page.button("resume").click()
    assert page.there.said() == [Command("resume")]
    page.there.decide(DecisionKind.RESUMED, "a person has given the queue back", {"after_s": 5.0})
    page.wait_until(lambda: page.button("pause").is_enabled())
    assert not page.button("resume").is_displayed()


def test_a_screen_reader_hears_of_it_and_can_tell_the_buttons_apart(show):
    page = show()
    page.wait_for("Proposal 7 waits for you.", "asks-said")
    said = page.browser.find_element(By.ID, "asks-said")
    assert (said.get_attribute("role"), said.get_attribute("aria-live")) == ("status", "polite")
    tree = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    names = [
        node.get("name", {}).get("value", "")
        for node in tree
        if node["role"]["value"] == "button" and not node.get("ignored")
    ]
    assert {"Apply proposal 7", "Decline proposal 7", "Pause: change nothing"} <= set(names)
    assert len(set(names)) == len(names)


def test_an_answer_that_comes_too_late_says_so(show):
    page = show()
    page.wait_for("proposal 7", "proposal-reason")
    # Decided elsewhere, and this page has not heard of it yet.
    page.browser.execute_script("page.stream.close()")
    page.there.decide(DecisionKind.DECLINED, "proposal 7 was declined")
    page.button("accept").click()
    page.wait_for("Your answer was not taken: proposal 7 is not open any more", "trouble")
    assert page.there.said() == []
    page.browser.get_log("browser")  # it complains of the refusal, which is what is tested


def test_a_page_that_only_shows_has_no_buttons(show):
    page = show(verbs=())
    page.wait_for("waits for an answer at the controller's terminal", "asks-said")
    assert [
        each.text
        for each in page.browser.find_elements(By.CSS_SELECTOR, "#asks button")
        if each.is_displayed()
    ] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_a_desk_by_day_and_night(show, scheme):
    page = show()
    page.browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    for width, mobile in ((390, True), (1280, False)):
        page.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": mobile},
        )
        page.browser.refresh()
        page.wait_for("proposal 7", "proposal-reason")
        page.wait_until(lambda: page.button("accept").is_displayed())
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= width
        page.picture(f"live_page_answer_{width}_{scheme}")


def test_each_of_several_queues_has_a_view(chromium, tmp_path):
    from vermilion.status.listener import Listener
    from vermilion.status.live_page.beside import PageBeside

    path = tmp_path / "set.sqlite"
    with book(path) as journal:
        journal.keep(SettingInForce(0.1, {"wan.limit": 100.0, "lan.limit": 20.0}))
        for tenth in range(1, 101):
            journal.keep(set_sample(tenth / 10))
        with PageBeside(path, Listener("127.0.0.1", 0)) as beside:
            page = Page.__new__(Page)
            page.browser = chromium
            chromium.get_log("browser")
            chromium.get(beside.address)
            page.wait_for("30.0 packets", "tiles")
            queue = chromium.find_element(By.ID, "queue")
            assert [each.text for each in queue.find_elements(By.TAG_NAME, "option")] == [
                "all together",
                "lan",
                "wan",
            ]
            Select(queue).select_by_value("lan")
            page.wait_for("20.0 packets", "tiles")
            page.wait_for("limit 20", "setting")
            assert "wan" not in page.text("setting")
            page.picture("live_page_queue")
            Select(queue).select_by_value("wan")
            page.wait_for("10.0 packets", "tiles")
            chromium.find_element(By.XPATH, "//button[text()='whole run']").click()
            page.wait_for("limit 100", "setting")
            assert page.complaints() == []
            chromium.get("about:blank")


@pytest.fixture
def several(chromium, tmp_path):
    """The page of two queues, each of which has a decision and flows of its own."""
    from vermilion.status.listener import Listener
    from vermilion.status.live_page.beside import PageBeside

    path = tmp_path / "set.sqlite"
    joint = {"wan.limit": 100.0, "lan.limit": 20.0}
    with book(path) as journal:
        journal.keep(SettingInForce(0.1, joint))
        for tenth in range(1, 101):
            journal.keep(set_sample(tenth / 10))
        journal.keep(FlowShares(10.0, "wan", 10.0, 4, None, 4, 0.91, 0.4, 0.1))
        journal.keep(FlowShares(10.0, "lan", 10.0, 6, None, 6, 0.62, 0.4, 0.1))
        journal.keep(Decision(5.0, DecisionKind.CHANGE_DETECTED, "wan: 3 flows have become 4", {}))
        words = "wan.limit 100 packets, lan.limit 20 packets: better"
        journal.keep(Decision(6.0, DecisionKind.APPLIED, words, {"setting": joint}))
        with PageBeside(path, Listener("127.0.0.1", 0)) as beside:
            page = Page.__new__(Page)
            page.browser = chromium
            chromium.get_log("browser")
            chromium.get(beside.address)
            page.wait_for("30.0 packets", "tiles")
            yield page
            assert page.complaints() == []
            chromium.get("about:blank")
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_several_queues_stand_side_by_side_and_each_has_its_own_decisions(several):
    page = several
    page.wait_for("lan 200 20.0 1.20 0.00 6 0.62", "each")
    assert "wan 100 10.0 1.20 0.00 4 0.91" in page.text("each")
    assert "at the least fair queue, 6 flows got 10 to 40 % each" in page.text("tiles")
    assert "limit 20 100" in page.text("setting")
    assert "wan: 3 flows have become 4" in page.text("log")
    # A keyboard is enough, and goes on where the choice is taken back.
    button = page.browser.find_element(By.CSS_SELECTOR, "#each button[data-queue=lan]")
    button.send_keys(Keys.ENTER)
    page.wait_for("20.0 packets", "tiles")
    assert page.browser.switch_to.active_element.get_attribute("id") == "queue"
    assert Select(page.browser.find_element(By.ID, "queue")).first_selected_option.text == "lan"
    assert not page.browser.find_element(By.ID, "each").is_displayed()
    page.wait_for("limit 20 packets: better", "log")
    assert "wan" not in page.text("log")
    assert "6 flows got" in page.text("tiles")


def test_several_queues_have_names_for_who_cannot_see_them(several):
    page = several
    page.wait_for("lan 200", "each")
    tree = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if not node.get("ignored")
    }
    assert {("button", "lan"), ("button", "wan"), ("columnheader", "fairness")} <= named
    assert any(role == "combobox" and "Queue" in name for role, name in named)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_several_queues_fit_a_phone_by_day_and_night_and_a_sheet_of_paper(several, scheme):
    page = several
    page.browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    page.browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
    )
    page.browser.refresh()
    page.wait_for("lan 200", "each")
    assert page.browser.execute_script("return document.documentElement.scrollWidth") == 390
    page.picture(f"live_page_queues_{scheme}")
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.browser.find_element(By.ID, "each").is_displayed()
    assert not page.browser.find_element(By.ID, "queue").is_displayed()

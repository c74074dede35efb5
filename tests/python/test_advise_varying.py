"""Advice for a line whose rate varies."""

from __future__ import annotations

import json

import pytest

from vermilion.advise.varying import advise_varying
from vermilion.cli.entry import main
from vermilion.scenario import ScenarioError

RANGE = "5 Mbit/s .. 20 Mbit/s"


def test_downloads_get_an_ifb_and_what_adapts():
    advice = advise_varying(RANGE, "down", "pppoe-wan", "vdsl")
    assert "tc qdisc replace dev ifb4pppoe-wan root cake bandwidth 5000kbit pppoe-ptm ingress" in (
        advice.apply
    )
    assert any("mirred egress redirect dev ifb4pppoe-wan" in each for each in advice.apply)
    assert not any("root" in each and "ifb4" not in each for each in advice.apply)
    assert advice.undo == ["tc qdisc del dev pppoe-wan ingress", "ip link del ifb4pppoe-wan"]
    assert "--line auto --direction down" in advice.keep
    assert "uci set sqm.line.download='5000'" in advice.openwrt
    assert "uci set sqm.line.upload='0'" in advice.openwrt


def test_uploads_on_adsl_count_cells():
    advice = advise_varying(RANGE, "up", link_layer="adsl", delay_at_most="20 ms")
    assert advice.apply == ["tc qdisc replace dev eth0 root cake bandwidth 5000kbit pppoe-llcsnap"]
    assert "uci set sqm.line.linklayer='atm'" in advice.openwrt
    assert "--excess '20 ms'" in advice.keep
    assert any("autorate-ingress off" in each for each in advice.notes)


def test_wifi_is_left_alone():
    advice = advise_varying(RANGE, "both", "wlan0", "wifi")
    assert (advice.apply, advice.undo, advice.keep) == ((), (), "")
    assert advice.verdict == "keep: wifi"


@pytest.mark.parametrize(
    ("rate", "interface"),
    [("20 Mbit/s .. 5 Mbit/s", None), ("fast .. slow", None), (RANGE, "eth0; reboot")],
)
def test_what_is_not_accepted(rate, interface):
    with pytest.raises(ScenarioError):
        advise_varying(rate, interface=interface)


def test_the_command_answers_with_json_and_text(capsys):
    assert main(["advise", "--rate", RANGE, "--direction", "both", "--json", "-"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rate_bit_per_s"] == {"from": 5e6, "to": 20e6}
    assert len(answer["commands"]["apply"]) == 6
    assert main(["advise", "--rate", RANGE]) == 0
    assert "sqm-scripts" in capsys.readouterr().out

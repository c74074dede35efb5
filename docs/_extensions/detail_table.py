"""Puts the keys of a decision's details into the documentation, where a page asks for them.

The line ``<!-- decision details -->`` becomes a table of :data:`DETAIL_KEYS`. A key means the same
in every kind of decision. Its unit is at its end, or is given here. The tables :data:`OPEN_TABLES`
have names of parameters, links or figures as keys, and none of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

OPEN_TABLES: Final = ("changed", "commands", "parameters", "rates_bit_per_s", "setting")

_PACKETS: Final = "packets"
_SHARE: Final = "0 to 1"
_OF_THE_OBJECTIVE: Final = "`unit`"

DETAIL_KEYS: Final[dict[str, tuple[str, str]]] = {
    "advantage": (_OF_THE_OBJECTIVE, "by how much the setting found is better in the model"),
    "advantage_half_width": (_OF_THE_OBJECTIVE, "of the 95 % interval of `advantage`"),
    "after_s": ("s", "how long it had paused, or hands were off"),
    "answer_within_s": ("s", "how long a router's answer is waited for"),
    "applied_s": ("s", "when the setting that is not judged was applied"),
    "at_exit": ("", "what the end of the run does to the setting: `keep` or `restore`"),
    "base_round_trip_s": ("s", "without the time in the queue"),
    "base_round_trips": ("", "the flows, in groups of like base round trips"),
    "base_round_trips_s": ("s", "of the flows of a path"),
    "because": ("", "why, in the words of the router, of the search or of the controller"),
    "bias_packets": (_PACKETS, "how far the mean queue is above the model's; below 0: under it"),
    "bound": ("", "the constraint or bound of harm that is meant, as it is written"),
    "bound_limit": ("of its metric", "the number that the bound asks for"),
    "bound_limit_half_width": (
        "of its metric",
        "of the 95 % interval of `bound_limit`, where that is measured itself",
    ),
    "bound_measured": ("of its metric", "what stands against it"),
    "bound_measured_half_width": ("of its metric", "of the 95 % interval of `bound_measured`"),
    "bound_phase": ("", "the phase of the model in which that was, from 0"),
    "by": ("", "the person who asked for it"),
    "calm_s": ("s", "how long nothing has changed"),
    "came_packets": (_PACKETS, "that came in `seconds`"),
    "carried_bit_per_s": ("bit/s", "what the link carried in `seconds`"),
    "carried_share_of_rate": (_SHARE, "the same, of its rate"),
    "cause": ("", "the details of the change of conditions that this answers"),
    "changed": ("", "the parameters that somebody else has set, and their values"),
    "changes_per_minute": ("per minute", "that the budget allows"),
    "changes_within_a_minute": ("", "changes of conditions in the last minute"),
    "command": ("", "the command that puts back what stood before the first change"),
    "commands": ("", "the same, of each of several queues"),
    "conditions_met": ("", "different conditions that were met while they fluctuate"),
    "dropped_packets": (_PACKETS, "that came while queues let nothing through, and were dropped"),
    "evaluations": ("", "settings that the search has tried"),
    "figures": ("", "what is seen and what the model says, of each figure that is compared"),
    "flows": ("", "long flows"),
    "flows_before": ("", "long flows before the change"),
    "flows_now": ("", "long flows since the change"),
    "fresh_seeds": ("", "simulations behind the comparison, with seeds that the search never saw"),
    "goal": ("", "what the controller is to do, in words"),
    "internal_target": ("of the objective", "the target that the model is tuned for"),
    "knowledge": ("", "what is known of the traffic: `full`, `flow count` or `counters`"),
    "law": ("", "the queue's own law and what it is told; `null` where there is none"),
    "least_gain": (_OF_THE_OBJECTIVE, "what a change must be better by to be made"),
    "least_queue_by_marks_packets": (
        _PACKETS,
        "where flows can be marked and are not dropped: how short the queue can be",
    ),
    "left_behind_by_run": ("", "the run of the journal that did not end in order"),
    "left_packets": (_PACKETS, "that left in `seconds`"),
    "link": ("", "the link that is meant, of several"),
    "link_state": ("", "`busy`, `idle`, `outage` or `elsewhere`"),
    "links": ("", "that a path crosses, in order"),
    "looks_again_in_s": ("s", "when the setting is judged again, or another model looked for"),
    "marked_packets": (_PACKETS, "that came while queues let nothing through, and were marked"),
    "mean_queue": (_PACKETS, "the mean queue that is seen, and the one expected"),
    "mean_queue_found_packets": (_PACKETS, "under the setting found, in the model"),
    "mean_queue_in_force_packets": (_PACKETS, "under the setting in force, in the model"),
    "mean_queue_packets": (_PACKETS, "as measured on the network"),
    "mean_round_trip_before_s": ("s", "mean base round trip before the change"),
    "mean_round_trip_now_s": ("s", "mean base round trip since the change"),
    "measured": (_OF_THE_OBJECTIVE, "the objective on the network, under the setting judged"),
    "measured_before": (_OF_THE_OBJECTIVE, "the objective on the network, before it"),
    "measured_half_width": (_OF_THE_OBJECTIVE, "of the 95 % interval of `measured`"),
    "mode": ("", "`observe`, `propose` or `control`"),
    "model": ("`unit`", "a figure as the model says it"),
    "model_mean_queue_packets": (_PACKETS, "the mean queue that the model promised"),
    "model_objective": (_OF_THE_OBJECTIVE, "the objective that the model promised"),
    "model_objective_before": (_OF_THE_OBJECTIVE, "the same of the setting before"),
    "models": ("", "over how many models the comparison is a mean"),
    "moved_by_queue": ("", "the parameters that the queue moves by itself; absent where none"),
    "name": ("", "of a figure"),
    "newcomers": ("", "flows that have come lately"),
    "next_try_in_s": ("s", "when the budget allows a change again"),
    "noise": ("`unit`", "by how much a figure scatters, one standard deviation"),
    "number": ("", "of the proposal, or of the request to the router"),
    "objective": ("", "the name of the objective"),
    "objective_found": (_OF_THE_OBJECTIVE, "of the setting found, in the model"),
    "objective_in_force": (_OF_THE_OBJECTIVE, "of the setting in force, in the model"),
    "open_flows": ("", "flows that have begun and not ended"),
    "parameters": ("", "the parameters that may be set; in `found`, what stood on the router"),
    "paths": ("", "of several queues: the flows of each path"),
    "picture": ("", "the conditions as they are believed to be"),
    "predicted_mean": (_PACKETS, "the mean queue, in the model"),
    "predicted_mean_queue_packets": (_PACKETS, "the mean queue, in the model"),
    "predicted_sd": (_PACKETS, "the queue's standard deviation, in the model"),
    "predicted_utilization": (_SHARE, "of the link, in the model"),
    "promised": (_OF_THE_OBJECTIVE, "what the answer of the search would give, in the model"),
    "push_charge": (_OF_THE_OBJECTIVE, "what putting the setting in force costs"),
    "queues": ("", "the queues of several that are meant"),
    "rate_before_bit_per_s": ("bit/s", "of the link, before the change"),
    "rate_bit_per_s": ("bit/s", "of the link"),
    "rate_now_bit_per_s": ("bit/s", "of the link, since the change"),
    "rates_bit_per_s": ("bit/s", "of each of several links"),
    "readings_empty_share": (_SHARE, "readings of `seconds` at which no packet waited"),
    "readings_waiting_share": (_SHARE, "readings of `seconds` at which packets waited"),
    "refining": ("", "whether an answer for these conditions is in force already"),
    "restored": ("", "false where the run was to restore the first setting and could not"),
    "round_trip_classes": ("", "pairs of a number of flows and their base round trip in s"),
    "round_trips_apart_share": (_SHARE, "how far the round trips are from those before"),
    "seconds": ("s", "how long was measured, or looked back"),
    "seen": ("`unit`", "a figure as it is seen"),
    "setting": ("", "the parameters of the setting that is meant, and their values"),
    "signal_rate": (_SHARE, "drops and marks per packet that arrived"),
    "signals": (_PACKETS, "that were dropped or marked in `signals_in_s`"),
    "signals_in_s": ("s", "how long signals are looked back for"),
    "silent_s": ("s", "how long the router has not answered"),
    "squared_deviation": ("packets^2", "of the queue from its target, as measured"),
    "squared_deviation_half_width": ("packets^2", "of the 95 % interval of the same"),
    "starved_below_share": (_SHARE, "of the mean share: who has less is starved"),
    "starved_flows": ("", "starved flows in each of the stretches"),
    "starved_flows_allowed": ("", "that the bound of harm allows"),
    "starved_flows_by_chance": ("", "more that may be chance"),
    "stretch_s": ("s", "how long each stretch is"),
    "stretches": ("", "successive stretches that were looked at"),
    "target_packets": (_PACKETS, "where the queue is to be held; absent or null for other goals"),
    "took_s": ("s", "how long the search took"),
    "unit": ("", "of the objective, or of the figure"),
    "unknown": ("", "what of the conditions is assumed, in words"),
    "usual_s": ("s", "mean time between changes of conditions"),
    "utilization": (_SHARE, "of the link, as measured"),
    "utilization_before": (_SHARE, "the same, before the setting judged"),
    "waited_s": ("s", "how long an answer was waited for"),
    "waiting_behind_doubt_s": ("s", "standard deviation of `waiting_behind_s`"),
    "waiting_behind_s": ("s", "mean wait behind this queue"),
    "waiting_here_s": ("s", "mean wait in this queue"),
    "waiting_packets": (_PACKETS, "in the queue"),
    "watcher": ("", "what has noticed it: `flows`, `round trips`, `rate`, `setting` and so on"),
}
"""Unit of each key, "" for none, and its meaning."""

PLACE: Final = "<!-- decision details -->"


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension with Sphinx."""
    app.connect("source-read", _fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill_in(_app: Sphinx, _page: str, source: list[str]) -> None:
    if PLACE in source[0]:
        source[0] = source[0].replace(PLACE, "\n".join(details_table()))


def details_table() -> Iterator[str]:
    """A row for each key: its unit, and what it is."""
    yield "| key | unit | what it is |"
    yield "| --- | --- | --- |"
    for key, (unit, meaning) in DETAIL_KEYS.items():
        yield f"| `{key}` | {unit} | {meaning} |"

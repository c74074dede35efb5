"""A subagent's conversation: questions, changes in four steps, silence and nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_queues import (
    FakeMaster,
    FakeQueues,
    fact,
    fq_codel_queue,
    random_drop,
    red_queue,
    setting,
)
from test_agentx_codec import messages
from vermilion.agentx.codec import ParseError, encode
from vermilion.agentx.protocol import (
    Binding,
    CleanupSet,
    Close,
    CommitSet,
    Get,
    GetBulk,
    GetNext,
    Header,
    Message,
    Ping,
    Response,
    SearchRange,
    Status,
    TestSet,
    UndoSet,
    ValueType,
)
from vermilion.agentx.subagent import ANSWER_WITHIN_S, MOST, PING_AFTER_S
from vermilion.routers.snmp.mib import DIFFSERV, TOP
from vermilion.routers.snmp.queue_objects import REGIONS, queue_subagent

RED = red_queue().place
GAUGE = ValueType.GAUGE32
DIFFSERV_NUMBER = 3 << 16 | 0x10  # of wan0, class 1:10


def connected(queues=None):
    master = FakeMaster(queue_subagent(queues or FakeQueues(), lambda: master.now_s))
    assert master.open().ended is None
    assert master.subagent.is_serving
    return master


def red(number, value, kind=GAUGE):
    return Binding(setting("red", number, RED), kind, value)


def test_it_opens_a_session_and_registers_each_region():
    assert connected().registered == [TOP, DIFFSERV]


def test_a_refused_region_is_said_and_the_other_is_served():
    master = FakeMaster(queue_subagent(FakeQueues(), lambda: 0.0))
    outcome = master.open(refuse={DIFFSERV})
    assert outcome.notes == [
        "the master does not take DIFFSERV-MIB (1.3.6.1.2.1.97): duplicate registration"
    ]
    assert master.subagent.is_serving


def test_refused_regions_alone_are_the_end():
    master = FakeMaster(queue_subagent(FakeQueues(), lambda: 0.0))
    outcome = master.open(refuse={each.subtree for each in REGIONS})
    assert outcome.final
    assert outcome.ended == "the master takes none of the parts that are offered"


def test_objects_that_there_are_not_are_told_apart():
    master = connected()
    asked = [
        fact(6, RED),
        fact(16, RED),  # flows, which nobody counts there
        (*TOP, 1, 9, 1, 1),
    ]
    answer = master.ask(Get(tuple(SearchRange(each) for each in asked)))
    assert [each.type for each in answer.bindings] == [
        GAUGE,
        ValueType.NO_SUCH_INSTANCE,
        ValueType.NO_SUCH_OBJECT,
    ]
    assert answer.bindings[0].value == 38


def test_ranges_include_their_start_and_end_before_their_end():
    master = connected()
    first, second = fact(2, fq_codel_queue().place), fact(2, RED)
    cases = {
        SearchRange(first): second,
        SearchRange(first, include=True): first,
        SearchRange(first, include=False, end=second): None,
        SearchRange(TOP, include=False, end=()): first,
        SearchRange((1, 3, 6, 1, 9)): None,
    }
    answer = master.ask(GetNext(tuple(cases)))
    for binding, (asked, expected) in zip(answer.bindings, cases.items(), strict=True):
        end = binding.type == ValueType.END_OF_MIB_VIEW
        assert binding.name == (asked.start if expected is None else expected)
        assert end == (expected is None)


def test_walking_and_bulk_find_every_object_once_and_in_order():
    master = connected()
    walked, at = [], TOP
    while True:
        [found] = master.ask(GetNext((SearchRange(at),))).bindings
        if found.type == ValueType.END_OF_MIB_VIEW:
            break
        walked.append(found)
        at = found.name
    assert walked == sorted(walked, key=lambda each: each.name)
    told = master.ask(GetBulk(1, 500, (SearchRange(DIFFSERV), SearchRange(TOP)))).bindings
    assert told[1:-1] == tuple(walked)
    assert told[-1].type == ValueType.END_OF_MIB_VIEW


def test_four_columns_of_two_tables_are_one_change():
    queues = FakeQueues()
    master = connected(queues)
    first = TestSet((red(2, 12_000), red(3, 36_000)))
    second = TestSet(
        (
            Binding(random_drop(6, DIFFSERV_NUMBER), GAUGE, 50),
            Binding(random_drop(7, DIFFSERV_NUMBER), GAUGE, 128),
        )
    )
    # net-snmp sends a test and a commit for each region of one request, all of one transaction.
    for body in (first, second, CommitSet(), CommitSet()):
        assert master.ask(body).status == Status.NO_ERROR
    assert master.ask(CleanupSet()) is None
    wanted = {
        "min_threshold": 12_000,
        "max_threshold": 36_000,
        "max_probability": 0.05,
        "weight_log": 9,
    }
    assert queues.told == [(RED, wanted)]


def test_the_test_of_what_does_not_fit_together_is_refused_and_changes_nothing():
    queues = FakeQueues()
    master = connected(queues)
    answer = master.ask(TestSet((red(4, 7), red(2, 99_000))))
    assert (answer.status, answer.index) == (Status.INCONSISTENT_VALUE, 1)
    assert master.ask(CommitSet()).status == Status.COMMIT_FAILED
    assert master.ask(CleanupSet()) is None
    assert queues.told == []


def test_a_second_test_is_refused_for_what_the_first_has_asked():
    queues = FakeQueues()
    master = connected(queues)
    assert master.ask(TestSet((red(3, 40_000),))).status == Status.NO_ERROR
    both = TestSet((Binding(random_drop(2, DIFFSERV_NUMBER), GAUGE, 50_000),))
    assert master.ask(both).status == Status.INCONSISTENT_VALUE
    assert queues.told == []


def test_an_undo_puts_back_what_was_there_and_does_so_once():
    queues = FakeQueues()
    master = connected(queues)
    before = dict(queues.there[RED].parameters)
    master.ask(TestSet((red(2, 12_000), red(5, 9))))
    master.ask(CommitSet())
    assert queues.there[RED].parameters != before
    for _ in range(2):
        assert master.ask(UndoSet()).status == Status.NO_ERROR
    assert queues.there[RED].parameters == before
    assert len(queues.told) == 2


def test_an_undo_that_fails_is_said():
    queues = FakeQueues()
    master = connected(queues)
    master.ask(TestSet((red(2, 12_000),)))
    master.ask(CommitSet())
    queues.refuses = 1
    answer = master.ask(UndoSet())
    assert (answer.status, answer.index) == (Status.UNDO_FAILED, 1)
    assert master.ask(UndoSet()).status == Status.UNDO_FAILED


def test_an_undo_before_the_commit_changes_nothing():
    queues = FakeQueues()
    master = connected(queues)
    master.ask(TestSet((red(2, 12_000),)))
    assert master.ask(UndoSet()).status == Status.NO_ERROR
    assert queues.told == []


def test_of_two_queues_the_first_is_put_back_when_the_second_refuses():
    class Second(FakeQueues):
        def apply(self, place, parameters):
            self.refuses = int(place != RED)
            super().apply(place, parameters)

    queues = Second()
    master = connected(queues)
    other = Binding(setting("fq_codel", 2, fq_codel_queue().place), GAUGE, 10_000)
    assert master.ask(TestSet((red(2, 12_000), other))).status == Status.NO_ERROR
    assert master.ask(CommitSet()).status == Status.COMMIT_FAILED
    assert queues.there[RED].parameters == red_queue().parameters
    assert [place for place, _ in queues.told] == [RED, RED]


def test_a_kernel_that_refuses_is_a_failed_commit():
    queues = FakeQueues()
    master = connected(queues)
    master.ask(TestSet((red(2, 12_000),)))
    queues.refuses = 1
    assert master.ask(CommitSet()).status == Status.COMMIT_FAILED
    assert master.ask(CommitSet()).status == Status.COMMIT_FAILED  # and it is not tried again
    assert master.ask(UndoSet()).status == Status.NO_ERROR
    assert queues.told == []


def two_queues(queues):
    """A master that has tested a change of the queue of RED and of the other one."""
    master = connected(queues)
    other = Binding(setting("fq_codel", 2, fq_codel_queue().place), GAUGE, 10_000)
    assert master.ask(TestSet((red(2, 12_000), other))).status == Status.NO_ERROR
    return master


class OnceOnly(FakeQueues):
    """Queues that take one change, and refuse the next ones."""

    def apply(self, place, parameters):
        super().apply(place, parameters)
        if len(self.told) == 1:
            self.refuses = 3


def test_where_a_failed_commit_leaves_something_behind_the_undo_has_failed():
    """RFC 2741: a commit says commitFailed (7.2.4.2), and only an undo undoFailed (7.2.4.3)."""
    queues = OnceOnly()
    master = two_queues(queues)
    answer = master.ask(CommitSet())
    assert (answer.status, answer.index) == (Status.COMMIT_FAILED, 1)
    assert queues.there[RED].parameters["min_threshold"] == 12_000
    for _ in range(2):  # net-snmp asks once for each region
        answer = master.ask(UndoSet())
        assert (answer.status, answer.index) == (Status.UNDO_FAILED, 1)


def test_an_undo_tries_again_what_the_commit_could_not_put_back():
    queues = OnceOnly()
    master = two_queues(queues)
    assert master.ask(CommitSet()).status == Status.COMMIT_FAILED
    queues.refuses = 0
    assert master.ask(UndoSet()).status == Status.NO_ERROR
    assert queues.there[RED].parameters == red_queue().parameters


def test_a_queue_that_is_silent_after_a_change_is_put_back():
    queues = FakeQueues()
    master = connected(queues)
    master.ask(TestSet((red(2, 12_000),)))
    queues.hides = 1
    assert master.ask(CommitSet()).status == Status.COMMIT_FAILED
    assert queues.there[RED].parameters == red_queue().parameters
    assert master.ask(UndoSet()).status == Status.NO_ERROR


def test_a_silent_queue_that_is_not_put_back_is_a_failed_undo():
    queues = FakeQueues()
    master = connected(queues)
    master.ask(TestSet((red(2, 12_000),)))
    queues.hides, queues.refuses = 1, 2
    assert master.ask(CommitSet()).status == Status.COMMIT_FAILED
    assert master.ask(UndoSet()).status == Status.UNDO_FAILED
    assert queues.there[RED].parameters["min_threshold"] == 12_000


def test_transactions_that_nobody_ends_are_forgotten():
    queues = FakeQueues()
    master = connected(queues)
    for number in range(MOST + 1):
        master.ask(TestSet((red(2, 12_000 + number),)), transaction=number)
    assert master.ask(CommitSet(), transaction=0).status == Status.COMMIT_FAILED
    assert master.ask(CommitSet(), transaction=1).status == Status.NO_ERROR
    assert master.ask(TestSet((red(2, 5),)), transaction=1).status == Status.PROCESSING_ERROR


@pytest.mark.parametrize(
    ("binding", "status"),
    [
        (red(2, 5, ValueType.INTEGER), Status.WRONG_TYPE),
        (red(5, 32), Status.WRONG_VALUE),
        (red(6, 3, ValueType.INTEGER), Status.WRONG_VALUE),
        (red(10, 1, ValueType.INTEGER), Status.NOT_WRITABLE),
        (red(99, 1), Status.NOT_WRITABLE),
        (Binding(fact(6, RED), GAUGE, 0), Status.NOT_WRITABLE),
        (Binding((*TOP, 1, 2, 1, 2, 9, 9), GAUGE, 1), Status.NO_CREATION),
        (Binding((*TOP, 1, 2, 1, 2, 9), GAUGE, 1), Status.NO_CREATION),
        (Binding(random_drop(7, DIFFSERV_NUMBER), GAUGE, 1000), Status.WRONG_VALUE),
        (Binding(random_drop(7, DIFFSERV_NUMBER), GAUGE, 0), Status.WRONG_VALUE),
        (Binding(random_drop(10, DIFFSERV_NUMBER), ValueType.INTEGER, 6), Status.NOT_WRITABLE),
        (Binding(random_drop(2, 4), GAUGE, 1), Status.NO_CREATION),
        (Binding((1, 3, 6, 1, 2, 1, 1, 5, 0), ValueType.OCTET_STRING, b"x"), Status.NOT_WRITABLE),
    ],
)
def test_the_binding_to_blame_is_named(binding, status):
    answer = connected().ask(TestSet((red(4, 7), binding)))
    assert (answer.status, answer.index) == (status, 2)


def test_a_queue_that_must_not_be_changed_is_not():
    queues = FakeQueues(red_queue(may_change=False))
    answer = connected(queues).ask(TestSet((red(2, 12_000),)))
    assert answer.status == Status.NOT_WRITABLE


def test_a_parameter_of_two_names_cannot_have_two_values():
    other = Binding(random_drop(2, DIFFSERV_NUMBER), GAUGE, 13_000)
    answer = connected().ask(TestSet((red(2, 12_000), other)))
    assert (answer.status, answer.index) == (Status.INCONSISTENT_VALUE, 2)


def test_a_coarse_value_that_says_what_is_in_force_changes_nothing():
    queues = FakeQueues(red_queue(parameters={**red_queue().parameters, "max_probability": 0.0204}))
    master = connected(queues)
    [shown] = master.ask(Get((SearchRange(random_drop(6, DIFFSERV_NUMBER)),))).bindings
    assert shown.value == 20
    master.ask(TestSet((Binding(random_drop(6, DIFFSERV_NUMBER), GAUGE, 20),)))
    assert master.ask(CommitSet()).status == Status.NO_ERROR
    assert queues.told == []


def test_questions_of_another_session_or_context_are_refused():
    master = connected()
    asked = Get((SearchRange(fact(6, RED)),))
    assert master.ask(asked, session=5).status == Status.NOT_OPEN
    assert master.ask(asked, context=b"other").status == Status.UNSUPPORTED_CONTEXT
    assert master.ask(asked, network_order=False).bindings[0].value == 38


def test_a_question_that_cannot_be_read_is_answered_so():
    master = connected()
    octets = bytearray(encode(Message(Header(0, 77, 4, 9), Get((SearchRange((1, 3)),)))))
    octets[20] = 200  # numbers in the first name
    outcome = master.subagent.received(bytes(octets), 0.0)
    [answer] = master.heard.feed(outcome.send)
    assert answer.body == Response(0, Status.PARSE_ERROR, 0)
    assert outcome.notes


def test_an_answer_is_dropped_that_nobody_waits_for():
    master = connected()
    answer = Message(Header(0, 77, 0, 99_999), Response(0, Status.NOT_OPEN, 0))
    assert master.feed(answer).ended is None
    assert master.feed(answer).send == b""


def test_a_silent_master_is_asked_whether_it_is_there_and_given_up():
    master = connected()
    subagent = master.subagent
    assert not subagent.tick(PING_AFTER_S).send
    [asked] = master.heard.feed(subagent.tick(PING_AFTER_S + 0.1).send)
    assert asked.body == Ping()
    assert subagent.tick(PING_AFTER_S + ANSWER_WITHIN_S).ended is None
    assert "not answered" in subagent.tick(PING_AFTER_S + ANSWER_WITHIN_S + 0.2).ended


def test_a_master_that_answers_nothing_at_all_is_given_up():
    subagent = queue_subagent(FakeQueues(), lambda: 0.0)
    assert subagent.begin(0.0).send
    assert subagent.tick(ANSWER_WITHIN_S + 0.1).ended


def test_the_session_ends_when_either_side_says_so():
    master = connected()
    [said] = master.heard.feed(master.subagent.end())
    assert (said.body, said.header.session) == (Close(5), 77)
    assert "closed the session" in master.feed(Message(Header(0, 77), Close(6))).ended
    assert queue_subagent(FakeQueues(), lambda: 0.0).end() == b""


def test_queues_that_cannot_be_read_are_a_general_error():
    class Gone(FakeQueues):
        def queues(self):
            from vermilion.routers import RouterError

            message = "the kernel takes no request"
            raise RouterError(message)

    master = connected(Gone())
    assert master.ask(Get((SearchRange(TOP),))).status == Status.GENERAL_ERROR
    assert master.ask(TestSet((red(2, 1),))).status == Status.GENERAL_ERROR


@given(st.lists(messages(), max_size=12), st.booleans())
def test_no_conversation_breaks_a_subagent_or_changes_what_may_not_be(told, ours):
    queues = FakeQueues(red_queue(may_change=False), fq_codel_queue(may_change=False))
    master = connected(queues)
    for each in told:
        header = Header(0, 77 if ours else each.header.session, each.header.transaction, 1)
        outcome = master.feed(Message(header, each.body))
        assert isinstance(outcome.send, bytes)
        if outcome.ended is not None:
            break
    assert queues.told == []


@given(st.binary(max_size=300))
def test_no_octets_break_a_subagent(octets):
    master = connected()
    outcome = master.subagent.received(octets, 0.0)
    for each in master.heard.feed(outcome.send):
        assert not isinstance(each, ParseError)

"""The live page's room: who is told, who may look, and how it ends."""

import asyncio
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from test_cli import refused, vermilion
from vermilion.online.entries import Decision, DecisionKind
from vermilion.status.listener import Listener
from vermilion.status.live_page import broadcast as broadcast_module
from vermilion.status.live_page import server as server_module
from vermilion.status.live_page.application import _KINDS
from vermilion.status.live_page.beside import PageBeside
from vermilion.status.live_page.broadcast import Broadcast, TooManyWatchersError
from vermilion.status.live_page.journal_reader import (
    Cursor,
    JournalReader,
)
from vermilion.status.live_page.server import PageServer

__all__ = ["vermilion"]

from journal_of_looks import book, look, looks

TOKEN = "sixteen-characters-at-least"  # noqa: S105 - nobody's


class TestBroadcast:
    def test_whoever_comes_late_or_back_gets_everything_once(self, tmp_path, monkeypatch):
        monkeypatch.setattr(broadcast_module, "NEWS_EVERY_S", 0.01)
        path = tmp_path / "j.sqlite"

        async def play(journal):
            caster = Broadcast(JournalReader(path))
            early = caster.watch(1, None)
            first = await anext(early)
            assert first.event == "snapshot"
            looks(journal, 6, 10)
            second = await anext(early)
            assert json.loads(second.data)["series"]["time_s"] == [1.0]
            late = caster.watch(1, Cursor.of(first.cursor))
            missed = await anext(late)
            assert (missed.event, json.loads(missed.data)) == ("news", json.loads(second.data))
            assert caster.watchers == 2
            looks(journal, 11, 15)
            assert [(await anext(each)).data for each in (early, late)] == [
                (await anext(caster.watch(1, Cursor.of(second.cursor)))).data
            ] * 2
            await early.aclose()
            await late.aclose()

        with book(path) as journal:
            looks(journal, 1, 5)
            asyncio.run(play(journal))

    def test_one_who_does_not_read_is_let_go_and_holds_nobody_up(self, tmp_path, monkeypatch):
        monkeypatch.setattr(broadcast_module, "NEWS_EVERY_S", 0.001)
        monkeypatch.setattr(broadcast_module, "MOST_WAITING", 2)
        path = tmp_path / "j.sqlite"

        async def play(journal):
            caster = Broadcast(JournalReader(path))
            slow, quick = caster.watch(1, None), caster.watch(1, None)
            await anext(slow)
            await anext(quick)
            for half in range(1, 8):
                looks(journal, 5 * half + 1, 5 * half + 5)
                news = json.loads((await anext(quick)).data)
                assert news["series"]["time_s"] == [0.5 * (half + 1)]
            assert [message async for message in slow] == []
            assert caster.watchers == 1
            await quick.aclose()
            assert caster.watchers == 0

        with book(path) as journal:
            looks(journal, 1, 5)
            asyncio.run(play(journal))

    def test_no_more_than_are_allowed_get_in_though_they_come_at_once(self, tmp_path, monkeypatch):
        monkeypatch.setattr(broadcast_module, "MOST_WATCHERS", 3)
        path = tmp_path / "j.sqlite"

        async def play():
            caster = Broadcast(JournalReader(path))
            watching = [caster.watch(1, None) for _ in range(8)]
            told = await asyncio.gather(*map(anext, watching), return_exceptions=True)
            assert sum(isinstance(each, TooManyWatchersError) for each in told) == 5
            assert caster.watchers == 3
            # Places are given back: by those who leave, and by those who never got in.
            for each in watching:
                await each.aclose()
            for _ in range(4):
                with pytest.raises(KeyError):
                    await anext(caster.watch(2, None))
            for each in [caster.watch(1, None) for _ in range(3)]:
                assert (await anext(each)).event == "snapshot"
                watching.append(each)
            assert caster.watchers == 3
            for each in watching:
                await each.aclose()

        with book(path) as journal:
            looks(journal, 1, 5)
            asyncio.run(play())

    def test_a_journal_that_cannot_be_read_for_a_while_is_said_once(self, tmp_path, monkeypatch):
        monkeypatch.setattr(broadcast_module, "NEWS_EVERY_S", 0.001)
        path = tmp_path / "j.sqlite"
        reader = JournalReader(path)
        calls = iter([sqlite3.OperationalError("disk I/O error")] * 3)
        really = reader.news

        def news(run, cursor, queue):
            trouble = next(calls, None)
            if trouble is not None:
                raise trouble
            return really(run, cursor, queue)

        monkeypatch.setattr(reader, "news", news)

        async def play(journal):
            watcher = Broadcast(reader).watch(1, None)
            await anext(watcher)
            looks(journal, 6, 10)
            assert [(await anext(watcher)).event for _ in range(2)] == ["trouble", "news"]
            await watcher.aclose()

        with book(path) as journal:
            looks(journal, 1, 5)
            asyncio.run(play(journal))


@pytest.fixture
def served(tmp_path):
    """A page of a running controller, in a process of its own; its port, its token, the journal."""
    path = tmp_path / "j.sqlite"
    journal = book(path)
    looks(journal, 1, 5)
    journal.keep(Decision(0.5, DecisionKind.START, "<b>not markup</b>", {}))
    process, port, token = serve(path)
    try:
        yield process, port, token, journal
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        journal.close()


def serve(path, port=0, token_file=None):
    command = [sys.executable, "-m", "vermilion", "watch", str(path), f"--listen=127.0.0.1:{port}"]
    command += [] if token_file is None else [f"--listen-token={token_file}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    found = re.search(r"127\.0\.0\.1:(\d+)/\?token=(\S+)$", line.strip())
    assert found, line
    return process, int(found[1]), found[2]


def ask(port, path, *, method="GET", token=None, **headers):
    """The status, the headers and the text of an answer."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()


class Stream:
    """Server-sent events, one after the other."""

    def __init__(self, port, token, run=1, **headers):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(
            "GET", f"/api/runs/{run}/news", headers={"Authorization": f"Bearer {token}", **headers}
        )
        self.answer = self.connection.getresponse()

    def __next__(self):
        fields = {}
        while line := self.answer.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            fields[name] = value
        return fields

    def close(self):
        self.answer.close()
        self.connection.close()


class TestServer:
    def test_the_page_fetches_nothing_from_elsewhere_and_says_so(self, served):
        _, port, token, _ = served
        status, headers, page = ask(port, "/", token=token)
        assert status == 200
        assert not re.findall(r"(?:https?:)?//[a-z]", page)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        used = set(re.findall(r"/static/([^\"]+)", page))
        assert used <= set(_KINDS)
        for name in _KINDS:
            status, headers, _ = ask(port, f"/static/{name}", token=token)
            assert (status, headers["x-content-type-options"]) == (200, "nosniff")

    def test_nonsense_gets_an_answer(self, served):
        _, port, token, _ = served
        for path, status in (
            ("/static/../../status/doing.py", 404),
            ("/static/%2e%2e%2fapplication.py", 404),
            ("/api/runs/2/news", 404),
            ("/api/runs/99999999999999999999/news", 404),
            (f"/api/runs/{'9' * 5000}/news", 404),
            ("/api/runs/1/history?from=1", 400),
            ("/api/runs/1/history?from=nan&to=inf", 400),
            ("/api/runs/1/history?from=2&to=1", 400),
            ("/api/runs/2/history?from=0&to=1", 404),
            ("/nothing", 404),
        ):
            assert ask(port, path, token=token)[0] == status, path

    def test_nobody_looks_without_the_token(self, served):
        _, port, token, _ = served
        for path in ("/", "/api/runs", "/api/runs/1/news", "/static/live.js"):
            assert ask(port, path)[0] == 401
            assert ask(port, path, token=f"{token}x")[0] == 401
        assert ask(port, "/api/runs", token=token, Host="evil.example")[0] == 421
        assert ask(port, "/api/runs", token=token, method="POST")[0] == 405
        assert ask(port, "/?token=wrong")[0] == 401

    def test_a_browser_keeps_the_token_in_a_cookie_and_not_in_the_address(self, served):
        _, port, token, _ = served
        status, headers, _ = ask(port, f"/?token={token}")
        cookie = headers["set-cookie"]
        assert (status, headers["location"]) == (303, "/")
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        said = cookie.partition(";")[0]
        assert ask(port, "/api/runs", Cookie=said)[0] == 200
        # Pages on other ports of this machine share their cookies, whatever those look like.
        for strange in ('prefs={"dark":true}', "flag", "a=b c", "=", 'quoted="'):
            assert ask(port, "/api/runs", Cookie=f"{strange}; {said}")[0] == 200
        # Another page of the same machine has a cookie of its own: neither puts the other out.
        other = f"vermilion-token-{port + 1}=something"
        assert ask(port, "/api/runs", Cookie=f"{other}; {said}")[0] == 200
        assert ask(port, "/api/runs", Cookie=said.replace(str(port), str(port + 1), 1))[0] == 401

    def test_news_come_and_a_broken_line_loses_nothing(self, served):
        _, port, token, journal = served
        stream = Stream(port, token)
        first = next(stream)
        assert first["event"] == "snapshot"
        assert json.loads(first["data"])["decisions"][0]["reason"] == "<b>not markup</b>"
        looks(journal, 6, 10)
        news = next(stream)
        assert json.loads(news["data"])["series"]["time_s"] == [1.0]
        stream.close()
        looks(journal, 11, 15)
        journal.keep(Decision(1.5, DecisionKind.KEPT, "meanwhile", {}))
        again = Stream(port, token, Last_Event_ID=news["id"])
        missed = next(again)
        assert missed["event"] == "news"
        told = json.loads(missed["data"])
        assert told["series"]["time_s"] == [1.5]
        assert [each["reason"] for each in told["decisions"]] == ["meanwhile"]
        again.close()

    @pytest.mark.parametrize("numbers", ["0.0:99999999999999999999:0:0", "0.0:0:-1:0", "nonsense"])
    def test_who_says_nonsense_about_what_was_told_is_told_all(self, served, numbers):
        _, port, token, _ = served
        stream = Stream(port, token, Last_Event_ID=numbers)
        assert next(stream)["event"] == "snapshot"
        stream.close()

    def test_it_ends_at_once_although_pages_are_open(self, served):
        process, port, token, _ = served
        streams = [Stream(port, token) for _ in range(3)]
        for stream in streams:
            next(stream)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        assert process.returncode == 0  # it runs until then, so that is its ordinary end
        # Well within the time that a supervisor would wait before it kills.
        assert time.monotonic() - begun < 10
        for stream in streams:
            stream.close()

    def test_many_look_at_once_and_the_journal_is_read_once_for_all(self, served):
        process, port, token, journal = served
        streams = [Stream(port, token) for _ in range(200)]
        for stream in streams:
            next(stream)
        looks(journal, 6, 10)
        texts = {next(stream)["data"] for stream in streams}
        assert len(texts) == 1
        # The journal is open only while it is read.
        files = list(Path(f"/proc/{process.pid}/fd").iterdir())
        assert len(files) < 200 + 30
        for stream in streams:
            stream.close()

    def test_one_who_stops_reading_stops_nobody(self, served):
        _, port, token, journal = served
        stalled = Stream(port, token)  # never read again
        stream = Stream(port, token)
        next(stream)
        for half in range(1, 5):
            looks(journal, 5 * half + 1, 5 * half + 5)
            assert "series" in json.loads(next(stream)["data"])
        stalled.close()
        stream.close()


@contextlib.contextmanager
def running(tmp_path, *listeners, metrics=None):
    """A server in this process; its ports, in the order of the listeners."""
    path = tmp_path / "j.sqlite"
    book(path).close()
    server = PageServer(path, *listeners, metrics=metrics)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,))
    thread.start()
    try:
        assert ready.wait(30)
        yield [each.port for each in server.listeners]
    finally:
        server.stop()
        thread.join(30)
        server.close()


@contextlib.contextmanager
def idle_connections(port, count):
    """Connections that say nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 500:
        pytest.skip("this process may not open as many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 500), hard))
    with ExitStack() as opened:
        for _ in range(count):
            opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def seconds_to_answer(port, token):
    """How soon the holder of the token is answered: the best of three, for other work beside."""
    times = []
    for _ in range(3):
        begun = time.monotonic()
        assert ask(port, "/api/runs", token=token)[0] == 200
        times.append(time.monotonic() - begun)
    return min(times)


def seconds_until_closed(port, beginning, drip=b"a"):
    """How long a connection lasts on which a request drips in without an end."""
    with socket.create_connection(("127.0.0.1", port), timeout=0.2) as line:
        begun = time.monotonic()
        line.sendall(beginning)
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - begun < 30:
                line.sendall(drip)
                with contextlib.suppress(TimeoutError):
                    if not line.recv(4096):
                        break
        return time.monotonic() - begun


class TestConnections:
    def test_a_crowd_that_says_nothing_keeps_nobody_out_who_has_the_token(self, served):
        _, port, token, journal = served
        stream = Stream(port, token)
        next(stream)
        with idle_connections(port, 1100):
            assert seconds_to_answer(port, token) < 2
            looks(journal, 6, 10)
            assert next(stream)["event"] == "news"
        stream.close()

    def test_a_crowd_that_asks_without_the_token_keeps_nobody_out(self, served):
        _, port, token, _ = served
        with ExitStack() as opened:
            for _ in range(400):
                line = socket.create_connection(("127.0.0.1", port), timeout=20)
                opened.enter_context(line).sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
            assert seconds_to_answer(port, token) < 2

    def test_requests_that_are_none_fill_no_log(self, tmp_path, caplog):
        with running(tmp_path, Listener("127.0.0.1", 0, TOKEN)) as (port,):
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
                    line.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
                    assert line.recv(100).startswith(b"HTTP/1.1 400")
        assert not caplog.records

    def test_a_request_that_drips_in_is_cut_off(self, tmp_path, monkeypatch):
        monkeypatch.setattr(server_module, "PATIENCE_S", 0.5)
        listener = Listener("127.0.0.1", 0, TOKEN)
        known = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        with running(tmp_path, listener) as (port,):
            for beginning in (
                "",
                "GET / HTTP/1.1\r\nX: ",
                f"GET /nothing HTTP/1.1\r\n{known}Content-Length: 100000\r\n\r\n",
                f"GET /api/runs HTTP/1.1\r\n{known}\r\nGET / HTTP/1.1\r\n{known}X: ",
            ):
                assert 0.3 < seconds_until_closed(port, beginning.encode()) < 5

    def test_one_who_has_the_token_may_ask_again_on_the_same_connection(self, tmp_path):
        with (
            running(tmp_path, Listener("127.0.0.1", 0, TOKEN)) as (port,),
            closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as line,
        ):
            for _ in range(3):
                line.request("GET", "/api/runs", headers={"Authorization": f"Bearer {TOKEN}"})
                answer = line.getresponse()
                answer.read()
                assert (answer.status, answer.will_close) == (200, False)
            line.request("GET", "/api/runs", headers={"Authorization": "Bearer wrong"})
            assert line.getresponse().status == 401


class TestMetrics:
    def test_prometheus_needs_no_token_on_the_loopback_unless_one_was_given(self, tmp_path):
        listeners = (Listener("127.0.0.1", 0), Listener("127.0.0.1", 0, only_metrics=True))
        with running(tmp_path, *listeners, metrics=lambda: b"x 1\n") as (page, metrics):
            for port in (page, metrics):
                assert ask(port, "/metrics")[::2] == (200, "x 1\n")
                assert ask(port, "/metrics", method="POST")[0] == 405
                assert ask(port, "/metrics", Host="evil.example")[0] == 421
                assert ask(port, "/metrics", Host=f"evil.example:{port}")[0] == 421
            assert ask(page, "/api/runs")[0] == 401
            assert ask(metrics, "/api/runs")[0] == 404

    def test_where_a_token_was_given_prometheus_has_to_say_it(self, tmp_path):
        listeners = (
            Listener("127.0.0.1", 0, TOKEN),
            Listener("127.0.0.1", 0, TOKEN[::-1], only_metrics=True),
        )
        with running(tmp_path, *listeners, metrics=lambda: b"x 1\n") as ports:
            for port, token in zip(ports, (TOKEN, TOKEN[::-1]), strict=True):
                assert ask(port, "/metrics", token=token)[0] == 200
                for wrong in (None, "another", token[::-1], "\u00e9"):
                    assert ask(port, "/metrics", token=wrong)[0] == 401

    def test_the_controller_is_asked_for_its_numbers(self, tmp_path):
        told = iter(range(10))
        path = tmp_path / "j.sqlite"
        book(path).close()
        listener = Listener("127.0.0.1", 0)
        with PageBeside(path, listener, metrics=lambda: b"n %d\n" % next(told)) as page:
            port = int(re.search(r":(\d+)/", page.address)[1])
            found = []
            while found[-1:] != ["n 2\n"]:
                found.append(ask(port, "/metrics")[2])
                time.sleep(0.05)
        assert set(found) == {"n 0\n", "n 1\n", "n 2\n"}

    def test_a_controller_that_does_not_answer_is_said(self, tmp_path):
        def trouble():
            message = "the controller does not answer"
            raise OSError(message)

        with running(tmp_path, Listener("127.0.0.1", 0), metrics=trouble) as (port,):
            assert ask(port, "/metrics")[0] == 503

    def test_where_there_are_none_nothing_is_served(self, served):
        _, port, token, _ = served
        assert ask(port, "/metrics", token=token)[0] == 404


def test_a_taken_address_is_one_line(tmp_path, vermilion):
    path = tmp_path / "j.sqlite"
    book(path).close()
    server = PageServer(path, Listener("127.0.0.1", 0))
    words = refused(vermilion("watch", path, f"--listen=127.0.0.1:{server.listeners[0].port}"))
    assert "cannot be listened on" in words
    server.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nowhere.sqlite"], '"nowhere.sqlite" does not exist'),
        (["--state-dir=/nowhere"], "--state-dir"),
        (["README.md"], "expected the file of online --journal"),
        (["{journal}", "--listen=0.0.0.0:80"], "--listen-from-outside beside it"),
        (["{journal}", "--listen=0.0.0.0:80", "--listen-from-outside"], "--listen-token with a"),
        (["{journal}", "--listen=here"], "expected an address and a port"),
        (["{journal}", "--listen-token=/nowhere"], "--listen-token"),
    ],
)
def test_a_mistake_is_one_line(vermilion, tmp_path, options, words):
    path = tmp_path / "j.sqlite"
    book(path).close()
    assert words in refused(vermilion("watch", *(each.format(journal=path) for each in options)))


def test_the_newest_journal_of_a_folder_is_shown(tmp_path, vermilion, monkeypatch):
    shown = []
    monkeypatch.setattr(PageServer, "run", lambda server: shown.append(server._path))
    for number, name in enumerate(("old", "new")):
        path = tmp_path / f"{name}.sqlite"
        book(path).close()
        os.utime(path, (number, number))
    code, out, _ = vermilion("watch", f"--state-dir={tmp_path}")
    assert (code, shown) == (0, [tmp_path / "new.sqlite"])
    assert "/?token=" in out


def test_a_reader_waits_for_no_writer(tmp_path):
    path = tmp_path / "j.sqlite"
    with book(path) as journal:
        looks(journal, 1, 5)
        journal._database.execute("BEGIN IMMEDIATE")
        journal.keep(look(0.6))
        found = []
        reading = threading.Thread(target=lambda: found.append(JournalReader(path).snapshot(1)))
        reading.start()
        reading.join(timeout=20)
        assert found
        assert found[0][1]["series"]["time_s"] == [0.5]
        journal._database.execute("COMMIT")

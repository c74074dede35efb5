//! The part of packetdrill's language that tells something about a sender.
//!
//! The language is that of N. Cardwell and others, "packetdrill: scriptable network stack testing", 2013.
//! Understood are times (absolute, relative, ranges, `*`), the system calls of an ordinary
//! connection, of which only `write`, `send` and `close` mean something, packets in and out, comments,
//! `--tolerance_usecs`, and Python that assigns numbers to variables and asserts how values of `tcp_info` compare.
//! Of shell commands in backquotes the congestion control, `fq` (which paces) and `tcp_early_retrans=0` are read.
//! Everything else is refused by name.
//!
//! A comment that begins with `//:` says which sender is meant: a name of
//! `vermilion senders`, and parameters as `name=value`. Without one it is what a Linux kernel would
//! be: CUBIC, or what the script asks for, with the option set `linux`. With one, everything that leaves must be named
//! before the next packet comes in, or something is written, and before the script ends.

use std::collections::VecDeque;

/// Why a script cannot be played: line and reason.
pub type Refusal = String;

/// When an event happens, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// At so many after the beginning, or (`relative`) after the event before, until as many more later.
    Given { relative: bool, from: u64, spread: u64 },
    /// Whenever.
    Any,
}

/// A segment of the connection under test, or its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    pub flags: String,
    pub first: u32,
    pub length: u32,
    pub acknowledged: Option<u32>,
    pub window: Option<u32>,
    pub options: Vec<String>,
}

impl Packet {
    /// The selective blocks, in bytes.
    pub fn blocks(&self) -> Vec<(u32, u32)> {
        let mut blocks = Vec::new();
        for option in self.options.iter().filter_map(|it| it.strip_prefix("sack ")) {
            for block in option.split_whitespace() {
                if let Some((first, after)) = block.split_once(':')
                    && let (Ok(first), Ok(after)) = (first.parse(), after.parse())
                {
                    blocks.push((first, after));
                }
            }
        }
        blocks
    }

    /// The number that follows the option called `name`.
    pub fn option(&self, name: &str) -> Option<u32> {
        self.options.iter().find_map(|it| it.strip_prefix(name)?.trim().parse().ok())
    }
}

/// An event, or an expectation.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The application writes so many bytes.
    Write(u32),
    /// A packet arrives at the sender.
    In(Packet),
    /// The sender must send this.
    Out(Packet),
    /// Python: assignments, and comparisons that must hold.
    Code(Vec<Statement>),
    /// The application closes the connection under test.
    Close,
    /// A system call that says nothing about a sender.
    Call,
}

/// A statement in Python.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A variable becomes, or grows by (`true`), a value.
    Set(String, bool, String),
    /// Value, operator, value: the comparison must hold.
    Assert([String; 3]),
}

/// A script.
#[derive(Clone, Debug)]
pub struct Script {
    /// The sender that `//:` names, with its parameters.
    pub sender: Option<String>,
    /// Congestion control that the script asks of the kernel.
    pub congestion_control: Option<String>,
    /// True if it has its packets spaced (`fq`).
    pub paced: bool,
    /// True if it has no tail loss probes (`tcp_early_retrans=0`).
    pub probes_off: bool,
    /// By how much times may differ, in nanoseconds.
    pub tolerance: u64,
    /// Line, time and event.
    pub events: Vec<(usize, Moment, Event)>,
}

/// Reads a script.
pub fn parse(text: &str) -> Result<Script, Refusal> {
    let mut script = Script {
        sender: None,
        congestion_control: None,
        paced: false,
        probes_off: false,
        tolerance: 4_000_000, // packetdrill's
        events: Vec::new(),
    };
    for (number, line) in statements(text, &mut script)? {
        if let Some(option) = line.strip_prefix("--") {
            if let Some(value) = option.strip_prefix("tolerance_usecs=") {
                let value: u64 = value.trim().parse().map_err(|_| refuse(number, "tolerance"))?;
                script.tolerance = value * 1000;
            }
            continue;
        }
        let (moment, rest) = moment_of(number, &line)?;
        if let Some(name) = rest.split("TCP_CONGESTION").nth(1) {
            script.congestion_control = name.split('"').nth(1).map(str::to_owned);
        }
        let event = event_of(number, rest.trim())?;
        script.events.push((number, moment, event));
    }
    Ok(script)
}

fn refuse(line: usize, what: &str) -> Refusal {
    format!("line {line}: not understood: {what}")
}

/// The statements with their lines, without comments and shell commands.
fn statements(text: &str, script: &mut Script) -> Result<Vec<(usize, String)>, Refusal> {
    let mut statements = Vec::new();
    let mut lines: VecDeque<(usize, String)> =
        text.lines().enumerate().map(|(index, line)| (index + 1, line.to_owned())).collect();
    // What the present line must still meet before it is over.
    let mut waiting_for: Option<(&str, String, usize)> = None;
    while let Some((number, line)) = lines.pop_front() {
        if let Some((end, mut before, begun)) = waiting_for.take() {
            let Some((inside, rest)) = line.split_once(end) else {
                before.push('\n');
                before.push_str(&line);
                waiting_for = Some((end, before, begun));
                continue;
            };
            before.push('\n');
            before.push_str(inside);
            if end == "}%" {
                statements.push((begun, before));
            } else if end == "`" {
                note_shell(&before, script);
            }
            lines.push_front((number, rest.to_owned()));
            continue;
        }
        if let Some(sender) = line.trim().strip_prefix("//:") {
            script.sender = Some(sender.trim().to_owned());
            continue;
        }
        let cut = [("//", ""), ("#", ""), ("/*", "*/"), ("`", "`"), ("%{", "}%")]
            .into_iter()
            .filter_map(|(begin, end)| Some((line.find(begin)?, begin, end)))
            .min_by_key(|(at, ..)| *at);
        let Some((at, begin, end)) = cut else {
            if !line.trim().is_empty() {
                statements.push((number, line.trim().to_owned()));
            }
            continue;
        };
        let before = line[..at].trim();
        match begin {
            "%{" => {
                let kept = format!("{before} %{{");
                waiting_for = Some((end, kept, number));
                lines.push_front((number, line[at + 2..].to_owned()));
            }
            "`" | "/*" => {
                if !before.is_empty() && begin == "/*" {
                    statements.push((number, before.to_owned()));
                }
                waiting_for = Some((end, String::new(), number));
                lines.push_front((number, line[at + begin.len()..].to_owned()));
            }
            _ if before.is_empty() => {}
            _ => statements.push((number, before.to_owned())),
        }
    }
    match waiting_for {
        Some((end, _, begun)) => Err(format!("line {begun}: no {end} follows")),
        None => Ok(statements),
    }
}

fn note_shell(command: &str, script: &mut Script) {
    script.paced |= command.contains("root fq");
    script.probes_off |= command.contains("tcp_early_retrans=0");
    if let Some(value) = command.split("tcp_congestion_control=").nth(1) {
        let name: String = value.chars().take_while(char::is_ascii_alphanumeric).collect();
        script.congestion_control = Some(name);
    }
}

fn nanoseconds(text: &str) -> Option<(bool, u64)> {
    let (relative, digits) = match text.strip_prefix('+') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let seconds: f64 = digits.parse().ok()?;
    (seconds >= 0.0).then(|| (relative, (seconds * 1e9).round() as u64))
}

fn moment_of(number: usize, line: &str) -> Result<(Moment, &str), Refusal> {
    let (time, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // Packetdrill takes "0.1<" without a space.
    let length = time.find(|it: char| !"+.~*0123456789".contains(it)).unwrap_or(time.len());
    let rest = if length < time.len() { &line[length..] } else { rest };
    let time = &time[..length];
    if time == "*" {
        return Ok((Moment::Any, rest));
    }
    // A call that blocks: from when until when.
    let time = time.split_once("...").map_or(time, |(begin, _)| begin);
    let (from, until) = time.split_once('~').unwrap_or((time, time));
    let (Some((relative, from)), Some((_, until))) = (nanoseconds(from), nanoseconds(until)) else {
        return Err(refuse(number, line));
    };
    Ok((Moment::Given { relative, from, spread: until.saturating_sub(from) }, rest))
}

fn event_of(number: usize, text: &str) -> Result<Event, Refusal> {
    if let Some(code) = text.strip_prefix("%{") {
        return statements_of(number, code).map(Event::Code);
    }
    if let Some(packet) = text.strip_prefix('<') {
        return packet_of(number, packet).map(Event::In);
    }
    if let Some(packet) = text.strip_prefix('>') {
        return packet_of(number, packet).map(Event::Out);
    }
    let call = text.strip_prefix("...").unwrap_or(text).trim_start();
    let call = call.trim_start_matches(|it: char| it.is_ascii_digit() || it == '.').trim_start();
    let name = call.split('(').next().unwrap_or_default().trim();
    if call.starts_with("close(3)") {
        return Ok(Event::Call); // the socket that listened, as every script calls it
    }
    if name == "close" {
        return Ok(Event::Close);
    }
    match name {
        "write" | "send" | "sendto" => {
            let bytes = call.split("...,").nth(1).and_then(|it| {
                it.trim_start().split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
            });
            bytes.map(Event::Write).ok_or_else(|| refuse(number, text))
        }
        "socket" | "setsockopt" | "getsockopt" | "bind" | "listen" | "accept" | "connect"
        | "fcntl" => Ok(Event::Call),
        _ => Err(refuse(number, text)),
    }
}

fn packet_of(number: usize, text: &str) -> Result<Packet, Refusal> {
    let mut packet = Packet::default();
    let (head, options) = text.split_once('<').unwrap_or((text, ""));
    packet.options = options
        .trim()
        .trim_end_matches('>')
        .split(',')
        .map(|option| option.trim().to_owned())
        .filter(|option| !option.is_empty())
        .collect();
    let mut words = head.split_whitespace().filter(|word| !word.starts_with('[')).peekable();
    packet.flags = words.next().unwrap_or_default().to_owned();
    let range = words.next().unwrap_or_default();
    let numbers: Vec<&str> = range.split([':', '(', ')']).collect();
    let (Some(Ok(first)), Some(Ok(length))) =
        (numbers.first().map(|it| it.parse()), numbers.get(2).map(|it| it.parse()))
    else {
        return Err(refuse(number, text));
    };
    (packet.first, packet.length) = (first, length);
    while let Some(word) = words.next() {
        let value = words.next().and_then(|it| it.parse().ok());
        match word {
            "ack" => packet.acknowledged = value,
            "win" => packet.window = value,
            _ => return Err(refuse(number, text)),
        }
    }
    if packet.flags.contains(['R', 'U']) {
        return Err(format!("line {number}: a reset, or urgent data, is not modelled"));
    }
    Ok(packet)
}

/// Statements of Python, without its comments.
fn statements_of(number: usize, code: &str) -> Result<Vec<Statement>, Refusal> {
    let mut found = Vec::new();
    let lines = code.replace("\\\n", " ");
    let lines = lines.lines().map(|line| line.split('#').next().unwrap_or_default());
    for statement in lines.flat_map(|line| line.split(';')).map(str::trim) {
        if statement.is_empty() || statement.starts_with("print") {
            continue;
        }
        let Some(condition) = statement.strip_prefix("assert") else {
            found.push(assignment(statement).ok_or_else(|| refuse(number, statement))?);
            continue;
        };
        let condition = condition.split(',').next().unwrap_or_default();
        let condition = condition.trim().trim_start_matches('(').trim_end_matches(')');
        for clause in condition.split(" and ") {
            let operator =
                ["==", "!=", ">=", "<=", ">", "<"].into_iter().find(|it| clause.contains(it));
            let Some((left, operator, right)) = operator
                .and_then(|it| clause.split_once(it).map(|(left, right)| (left, it, right)))
            else {
                return Err(refuse(number, clause));
            };
            found.push(Statement::Assert([left, operator, right].map(|it| it.trim().to_owned())));
        }
    }
    Ok(found)
}

/// `name = value`, or `name += value`.
fn assignment(statement: &str) -> Option<Statement> {
    let (name, value) = statement.split_once('=')?;
    let (name, adds) = match name.strip_suffix('+') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let is_word =
        |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let (name, value) = (name.trim(), value.trim());
    (is_word(name) && is_word(value))
        .then(|| Statement::Set(name.to_owned(), adds, value.to_owned()))
}

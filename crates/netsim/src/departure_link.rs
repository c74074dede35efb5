use std::collections::VecDeque;
use std::sync::Arc;

use vermilion_aqm::{Colour, DropReason, Dropped, Ecn, Header, Scheduler, Visit};
use vermilion_parameters::{ParameterError, Values};
use vermilion_port::AnyPort;

use crate::air::Air;
use crate::arrival_link::LOST;
use crate::calendar::{Calendar, NEVER};
use crate::delay_line::DelayLine;
use crate::delay_lines::DelayLines;
use crate::delay_lines::standing::ANY;
use crate::flow_traffic::{FlowTraffic, Sent};
use crate::headers;
use crate::link_books::Ledger;
use crate::link_window::LinkWindow;
use crate::loss::LossModel;
use crate::packet::{Half, Packet};
use crate::random::Stream;
use crate::scenario;
use crate::turn_link::{TurnLink, Turns};

/// A packet that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    packet: Packet,
    line: u32,
    /// Of its source and its destination, where the queue asks for them.
    hosts: [u16; 2],
}

/// Numbers of the hosts that send and receive each flow's data.
pub type Hosts = Arc<[[u16; 2]]>;

impl vermilion_aqm::Packet for Waiting {
    #[inline]
    fn size(&self) -> u32 {
        self.packet.size()
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }

    #[inline]
    fn mark(&mut self) {
        self.packet.mark();
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.packet.direction()
    }

    #[inline]
    fn colour(&self) -> Colour {
        self.packet.colour()
    }

    #[inline]
    fn dscp(&self) -> u8 {
        self.packet.dscp()
    }

    #[inline]
    fn hosts(&self) -> [u32; 2] {
        self.hosts.map(u32::from)
    }

    fn header(&self) -> Option<Header> {
        if self.packet.is_acknowledgement() { None } else { headers::of(&self.packet) }
    }

    fn set_header(&mut self, header: Header) {
        headers::rewrite(&self.packet, header);
    }

    fn is_superseded_by(&self, later: &Self) -> bool {
        self.packet.is_superseded_by(later.packet)
    }
}

/// Why a packet is no longer in the queue.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// The queue has dropped it.
    Dropped(DropReason),
    /// It was sent, and the wire loses it.
    Lost,
    /// It is sent, and may have been marked on leaving; said only where notes are taken.
    Sent {
        /// True if it was.
        marked: bool,
    },
}

/// A packet that is no longer in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Gone {
    /// The packet.
    pub packet: Packet,
    /// When it arrived, in nanoseconds.
    pub arrived: u64,
    /// Its fate.
    pub fate: Fate,
}

impl From<Dropped<Waiting>> for Gone {
    fn from(dropped: Dropped<Waiting>) -> Self {
        let Dropped { packet, arrived, reason } = dropped;
        Self { packet: packet.packet, arrived, fate: Fate::Dropped(reason) }
    }
}

/// Notes beside the books for whoever asks.
#[derive(Clone, Debug, Default)]
struct Watch {
    traffic: Option<FlowTraffic>,
    /// True if notes are taken of what is sent.
    noted: bool,
    /// Where packets take different times, and its number in the calendar.
    air: Option<(Air, usize)>,
}

/// Surroundings of the queue and its transmitter, asked for every packet.
#[derive(Clone, Debug)]
struct Around {
    /// Packets dropped, or lost on the wire, since somebody last looked; where notes are taken, those sent
    /// too.
    gone: Vec<Gone>,
    /// The same of turns that were carried out late, in the order in which they would have been forgotten.
    gone_before: VecDeque<Gone>,
    /// When the last packet was offered.
    last_offer: u64,
    /// Turns that were carried out late and would have been events otherwise.
    late_turns: u64,
    /// True if turns have to be carried out at their times.
    prompt: bool,
    /// The delay line of the packet in transmission, or of the last one.
    line_in_service: u32,
    /// Only where somebody asks for it.
    watch: Option<Box<Watch>>,
    hosts: Hosts,
}

/// A link whose queue discipline watches departures.
///
/// Such a discipline may drop or mark the packet whose turn it is, or has to know what the queue
/// did between two arrivals. When a packet will be sent is then unknown until its turn comes, so
/// the packets wait here and the link is a source of events of its own: the instants at which the
/// next packet is taken from the queue. An empty queue needs none. Nor does the calendar need to come by for
/// most of them: a turn may be carried out late, as if at its time, until what it sends arrives somewhere.
///
/// How they wait and are taken is [`TurnLink`]'s; here is what the simulator needs around it: the
/// delay lines on which packets leave, and who is told of those that are gone. What is measured is what
/// [`ArrivalLink`](crate::arrival_link::ArrivalLink) measures.
#[derive(Clone, Debug)]
pub struct DepartureLink {
    /// Its number in the calendar.
    pub source: usize,
    /// When the calendar has a turn that may be late, or [`NEVER`]; it may be too early, but not too late.
    pub entered: u64,
    link: TurnLink<Waiting>,
    around: Around,
    /// The least delay, beyond its own, after which what leaves arrives somewhere; `None` if turns may not be late.
    way_behind: Option<u64>,
    /// How long after its time a turn may be carried out.
    patience: u64,
}

/// A packet that is offered to a link, which carries out its turns first.
struct Pass<'a> {
    turns: &'a mut Turns,
    around: &'a mut Around,
    now: u64,
    times: Half,
    rest: Half,
    line: u32,
    lines: &'a mut DelayLines,
    calendar: &'a mut Calendar,
}

impl Visit<Waiting> for Pass<'_> {
    type Coin = Stream;
    type Output = bool;

    #[inline(always)]
    fn visit<Q: Scheduler<Waiting, Stream>>(self, queue: &mut Q) -> bool {
        let Self { turns, around, now, times, rest, line, lines, calendar } = self;
        pass(turns, around, queue, now, times, rest, line, lines, calendar)
    }
}

/// Carries out all turns up to `now`, and then offers a packet, which leaves on delay line `line`. Whether it is
/// marked.
#[inline(never)] // a piece of code for each kind of queue
#[expect(clippy::too_many_arguments, reason = "together they would be written to memory")]
fn pass<Q: Scheduler<Waiting, Stream>>(
    turns: &mut Turns,
    around: &mut Around,
    queue: &mut Q,
    now: u64,
    times: Half,
    rest: Half,
    line: u32,
    lines: &mut DelayLines,
    calendar: &mut Calendar,
) -> bool {
    let mut marked = None;
    loop {
        // At one instant turns come before arrivals, as at every link.
        while turns.next_turn() <= now {
            let turn = turns.next_turn();
            // At its time it would have been an event, unless a packet is offered at that instant.
            around.late_turns += u64::from(turn != around.last_offer && turn != now);
            take(turns, around, queue, turn, lines, calendar);
            if !around.gone.is_empty() && turn != now {
                around.set_apart();
            }
        }
        if marked.is_some() {
            break;
        }
        let packet = Packet::of_halves(times, rest);
        let hosts = if Q::READS_HOSTS { around.hosts_of(packet) } else { [0; 2] };
        let gone = &mut around.gone;
        let waiting = Waiting { packet, line, hosts };
        marked = Some(turns.offer(queue, now, waiting, &mut |dropped| gone.push(dropped.into())));
        around.last_offer = now;
        if !around.prompt {
            break;
        }
    }
    marked == Some(true)
}

/// A turn that has come.
struct Turn<'a> {
    turns: &'a mut Turns,
    around: &'a mut Around,
    now: u64,
    lines: &'a mut DelayLines,
    calendar: &'a mut Calendar,
}

impl Visit<Waiting> for Turn<'_> {
    type Coin = Stream;
    type Output = ();

    #[inline(always)]
    fn visit<Q: Scheduler<Waiting, Stream>>(self, queue: &mut Q) {
        take_by_call(self.turns, self.around, queue, self.now, self.lines, self.calendar);
    }
}

#[inline(never)] // as above
fn take_by_call<Q: Scheduler<Waiting, Stream>>(
    turns: &mut Turns,
    around: &mut Around,
    queue: &mut Q,
    now: u64,
    lines: &mut DelayLines,
    calendar: &mut Calendar,
) {
    take(turns, around, queue, now, lines, calendar);
}

/// Takes the next packet to be sent at `now`, and puts it on its line. There may be none: the discipline may drop every
/// packet that waits, and the wire may lose the one that is sent.
#[inline(always)] // for every packet
fn take<Q: Scheduler<Waiting, Stream>>(
    turns: &mut Turns,
    around: &mut Around,
    queue: &mut Q,
    now: u64,
    lines: &mut DelayLines,
    calendar: &mut Calendar,
) {
    let gone = &mut around.gone;
    let taken = turns.take(queue, now, &mut |dropped: Dropped<Waiting>| gone.push(dropped.into()));
    let Some(taken) = taken else { return };
    let Waiting { packet, line, .. } = taken.packet;
    if around.watch.is_some() {
        let (times, rest) = packet.halves();
        around.tell_of_sent(times, rest, taken.arrived, taken.marked);
        if !taken.lost && around.hold(times, rest, line, taken.end, calendar) {
            return;
        }
    }
    if taken.lost {
        around.line_in_service = LOST;
        let (times, rest) = packet.halves();
        return around.lose(times, rest, taken.arrived);
    }
    around.line_in_service = line;
    lines.push::<ANY>(line, packet, taken.end + turns.delay(), calendar);
}

impl Around {
    /// A turn was carried out late, which dropped packets.
    #[cold]
    #[inline(never)]
    fn set_apart(&mut self) {
        self.gone_before.extend(self.gone.drain(..).rev());
    }

    /// The same for whoever asks. A call, so that those who do not ask have a short way.
    #[cold]
    #[inline(never)]
    fn tell_of_sent(&mut self, times: Half, rest: Half, arrived: u64, marked: bool) {
        let packet = Packet::of_halves(times, rest);
        let Some(watch) = &mut self.watch else { return };
        if let Some(traffic) = &mut watch.traffic {
            traffic.count(packet.direction(), packet.size());
        }
        if watch.noted {
            self.gone.push(Gone { packet, arrived, fate: Fate::Sent { marked } });
        }
    }

    /// Holds a packet that is sent until `end`, where packets take different times: whether they do.
    #[cold]
    #[inline(never)]
    fn hold(
        &mut self,
        times: Half,
        rest: Half,
        line: u32,
        end: u64,
        calendar: &mut Calendar,
    ) -> bool {
        let Some(watch) = &mut self.watch else { return false };
        let Some((air, source)) = &mut watch.air else { return false };
        air.hold(Packet::of_halves(times, rest), line, end);
        calendar.set(*source, air.next_time());
        // It is on no line of which a change of the rate could have it leave at another time.
        self.line_in_service = LOST;
        true
    }

    /// Numbers of the hosts that send and receive a packet.
    #[inline]
    fn hosts_of(&self, packet: Packet) -> [u16; 2] {
        let [data, other] = self.hosts.get(packet.flow() as usize).copied().unwrap_or_default();
        if packet.is_acknowledgement() { [other, data] } else { [data, other] }
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self, times: Half, rest: Half, arrived: u64) {
        let packet = Packet::of_halves(times, rest);
        self.gone.push(Gone { packet, arrived, fate: Fate::Lost });
    }
}

impl DepartureLink {
    /// An idle link at time 0 with the empty `queue`, which has been built from `values`, all of its
    /// parameters.
    pub fn new(
        link: &scenario::Link,
        queue: AnyPort<Waiting>,
        values: Values,
        coin: Stream,
        wire: Stream,
    ) -> Self {
        let around = Around {
            gone: Vec::new(),
            gone_before: VecDeque::new(),
            last_offer: NEVER,
            late_turns: 0,
            prompt: true,
            line_in_service: 0,
            watch: None,
            hosts: Hosts::default(),
        };
        Self {
            source: 0,
            entered: NEVER,
            link: TurnLink::new(link, queue, values, coin, wire),
            around,
            way_behind: None,
            patience: 0,
        }
    }

    /// From now on its packets take different times.
    pub fn set_air(&mut self, air: Air) {
        self.around.watch.get_or_insert_default().air = Some((air, 0));
    }

    /// Number in the calendar of its air, if it has one.
    pub fn air_source(&mut self) -> Option<&mut usize> {
        let air = self.around.watch.as_mut().and_then(|watch| watch.air.as_mut());
        air.map(|(_, source)| source)
    }

    /// Lets packets go on that are due at `now`.
    pub fn release(&mut self, now: u64, lines: &mut DelayLines, calendar: &mut Calendar) {
        let delay = self.delay();
        let air = self.around.watch.as_mut().and_then(|watch| watch.air.as_mut());
        let Some((air, source)) = air else { return };
        while let Some((packet, line)) = air.release(now) {
            lines.push::<ANY>(line, packet, now + delay, calendar);
        }
        calendar.set(*source, air.next_time());
    }

    /// Least delay of what leaves: so many nanoseconds after the link's own delay, so that turns may be
    /// carried out late.
    pub fn allow_late_turns(&mut self, way_behind: u64) {
        self.way_behind = Some(way_behind);
        self.find_patience();
    }

    /// Tells it whose flows are whose.
    pub fn tell_hosts(&mut self, hosts: &Hosts) {
        self.around.hosts = Arc::clone(hosts);
    }

    /// A turn has to be carried out before what it sends could arrive, and before all else at that instant.
    fn find_patience(&mut self) {
        let way = self.way_behind.map_or(0, |behind| self.delay() + behind);
        (self.around.prompt, self.patience) = (way == 0, way.saturating_sub(1));
    }

    /// Return true if turns have to be carried out at their times.
    #[inline]
    pub fn is_prompt(&self) -> bool {
        self.around.prompt
    }

    /// When the next turn comes; [`NEVER`] while nothing waits.
    #[inline]
    pub fn next_turn(&self) -> u64 {
        self.link.next_turn()
    }

    /// When the next turn has to have been carried out.
    #[inline]
    pub fn deadline(&self) -> u64 {
        self.next_turn().saturating_add(self.patience)
    }

    /// Offers a packet at `now`, to leave on delay line `line`: it waits for its turn, even if that
    /// comes at once, or is dropped. Whether it is marked. Turns up to `now` are carried out.
    #[inline(always)] // in one place
    pub fn pass(
        &mut self,
        now: u64,
        times: Half,
        rest: Half,
        line: u32,
        lines: &mut DelayLines,
        calendar: &mut Calendar,
    ) -> bool {
        let (queue, turns) = self.link.parts();
        queue.visit(Pass {
            turns,
            around: &mut self.around,
            now,
            times,
            rest,
            line,
            lines,
            calendar,
        })
    }

    /// Carries out the next turn, whose time is `now`.
    pub fn take(&mut self, now: u64, lines: &mut DelayLines, calendar: &mut Calendar) {
        let (queue, turns) = self.link.parts();
        queue.visit(Turn { turns, around: &mut self.around, now, lines, calendar });
    }

    /// The same for one that comes late: it is an event, unless a packet was offered at its time.
    pub fn take_late(&mut self, lines: &mut DelayLines, calendar: &mut Calendar) {
        let turn = self.next_turn();
        self.around.late_turns += u64::from(turn != self.around.last_offer);
        self.take(turn, lines, calendar);
    }

    /// Turns that were carried out late, each of which is an event.
    pub fn late_turns(&self) -> u64 {
        self.around.late_turns
    }

    /// Packets dropped, or lost on the wire, since somebody last looked; where notes are taken, those sent
    /// too.
    #[inline]
    pub fn gone(&mut self) -> &mut Vec<Gone> {
        &mut self.around.gone
    }

    /// Return true if there are any.
    #[inline]
    pub fn has_gone(&self) -> bool {
        !self.around.gone.is_empty() || !self.around.gone_before.is_empty()
    }

    /// The next of them to be forgotten.
    pub fn next_gone(&mut self) -> Option<Gone> {
        self.around.gone_before.pop_front().or_else(|| self.around.gone.pop())
    }

    /// Traffic that each flow has sent since the last call; the first call begins to watch.
    pub fn take_traffic(&mut self) -> Vec<Sent> {
        self.around.watch.get_or_insert_default().traffic.get_or_insert_default().take()
    }

    /// From now on notes are taken of what is sent.
    pub fn take_notes(&mut self) {
        self.around.watch.get_or_insert_default().noted = true;
        self.way_behind = None;
        self.find_patience();
    }

    /// Propagation delay in nanoseconds.
    #[inline]
    pub fn delay(&self) -> u64 {
        self.link.delay()
    }

    /// Bits that could be sent from `begin` on and before `end`.
    pub fn capacity(&self, begin: u64, end: u64) -> f64 {
        self.link.capacity(begin, end)
    }

    /// Ends the window at `now`, adds it to each of `into`, and begins the next.
    pub fn close_window(&mut self, now: u64, into: &mut [&mut LinkWindow]) {
        self.link.close_window(now, into);
    }

    /// From `now` on [`DepartureLink::since_mark`] counts.
    pub fn mark(&mut self, now: u64) {
        self.link.mark(now);
    }

    /// Measurements since the mark, if there is one.
    pub fn since_mark(&mut self, now: u64) -> Option<LinkWindow> {
        self.link.since_mark(now)
    }

    /// Totals since time 0, up to `now`.
    pub fn ledger(&mut self, now: u64) -> Ledger {
        self.link.ledger(now)
    }

    /// Waiting so far of the packets still in the queue, in nanoseconds.
    pub fn waiting_so_far(&self, now: u64) -> u128 {
        self.link.waiting_so_far(now)
    }

    /// Every packet that waits.
    #[cfg(test)]
    pub fn packets(&self) -> Vec<Packet> {
        let mut packets = Vec::new();
        self.link.each(&mut |waiting| packets.push(waiting.packet));
        packets
    }

    /// Packets and bytes waiting.
    pub fn queue(&self) -> (u32, u64) {
        self.link.queue()
    }

    /// See [`Discipline::average_queue`](vermilion_aqm::Discipline::average_queue).
    pub fn average_queue(&self) -> Option<f64> {
        self.link.average_queue()
    }

    /// See [`Discipline::drop_probability`](vermilion_aqm::Discipline::drop_probability).
    pub fn drop_probability(&self) -> Option<f64> {
        self.link.drop_probability()
    }

    /// See [`Discipline::cause`](vermilion_aqm::Discipline::cause).
    pub fn cause(&self, reason: DropReason) -> &'static str {
        self.link.cause(reason)
    }

    /// Every parameter in force.
    pub fn values(&self) -> &Values {
        self.link.values()
    }

    /// Replaces some parameters of the discipline; on error nothing changes. No discipline that
    /// watches departures has what waits dropped.
    pub fn set_parameters(&mut self, now: u64, changed: &Values) -> Result<(), ParameterError> {
        self.link.set_parameters(now, changed).map(|_| ())
    }

    /// Changes the propagation delay for packets whose transmission begins from now on.
    pub fn set_delay(&mut self, delay: u64) {
        self.link.set_delay(delay);
        self.find_patience();
    }

    /// Changes how the wire loses packets sent from now on.
    pub fn set_loss(&mut self, model: LossModel) {
        self.link.set_loss(model);
    }

    /// Changes the rate at `now` and re-times the packet in transmission; what waits follows. The
    /// caller must have closed the window, and re-enters this link and the delay lines in the
    /// calendar.
    pub fn set_rate(&mut self, now: u64, rate: u64, lines: &mut [DelayLine]) {
        let moved = self.link.set_rate(now, rate);
        // The packet in transmission is the last that was put on its line, unless it will be lost.
        if let Some((_, end)) = moved
            && let Some(line) = lines.get_mut(self.around.line_in_service as usize)
        {
            line.move_from_end(0, end + self.link.delay_in_service());
            line.restore_order();
        }
    }
}

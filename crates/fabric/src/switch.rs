//! Switches: packets that come, wait, are marked or lost, and pauses.

use vermilion_rdma::Hop;

use crate::end::End;
use crate::engine::Engine;
use crate::packet::{Kind, Packet};
use crate::pause::Signal;
use crate::slots::NONE;

/// Nanoseconds between two looks for a deadlock.
const CHECK_INTERVAL: u64 = 1_000_000;

impl<E: End> Engine<E> {
    /// A packet comes to a switch.
    pub(crate) fn forward(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        let hop = packet.hop + 1;
        let is_data = packet.kind == Kind::Data;
        let way = packet.flow as usize * 2 * self.half + if is_data { 0 } else { self.half };
        let out = self.ways[way + hop as usize];
        self.packets[number as usize].hop = hop;
        let size = u32::from(packet.size);
        if packet.kind == Kind::Notification || !is_data && self.acknowledgements_first {
            return self.launch_first(out, number, size);
        }
        let ingress = packet.link ^ 1;
        let line = self.line(out);
        // With several classes another one may be about to send.
        let is_free = self.ports[line as usize].free_at <= now
            && (E::PLAIN || !self.ports[line as usize].is_waiting);
        let port = &mut self.ports[out as usize];
        let pauses = self.pauses[port.switch as usize];
        if port.head == NONE && is_free && !port.is_paused {
            port.was_paused = false;
            if is_data {
                self.note(out, number, packet);
            } else {
                self.control_hops += 1;
            }
            self.launch(out, number, size, now);
            if self.asking[ingress as usize].is_pausing {
                self.may_resume(ingress);
            }
            return;
        }
        let before = port.queue;
        if !E::PLAIN && !self.marks_at_departure && self.is_unmarkable(out, before, packet) {
            return self.lose(out, number, packet.flow);
        }
        let port = &mut self.ports[out as usize];
        let buffer = &mut self.buffers[port.switch as usize];
        let has_room = if pauses {
            buffer.take(&mut self.ingress[ingress as usize], size)
        } else {
            buffer.take_lossy(port.alpha, port.queue, size)
        };
        if !has_room {
            return self.lose(out, number, packet.flow);
        }
        port.append(&mut self.next, number, size);
        let is_paused = port.is_paused;
        if port.watched != NONE {
            self.watch(out);
        }
        self.join(out);
        let is_waiting = self.ports[line as usize].is_waiting;
        let marks_here = !self.marks_at_departure && is_data && (E::PLAIN || !packet.unmarkable);
        if marks_here && self.is_marked(out, before) {
            self.packets[number as usize].marked = true;
        }
        if !is_waiting && !is_paused {
            self.await_free(out);
        }
        if pauses {
            let buffer = &self.buffers[self.ports[out as usize].switch as usize];
            let own = &self.ingress[ingress as usize];
            let signal = self.asking[ingress as usize].on_arrival(|| buffer.is_over(own));
            if signal.is_some() {
                self.blame(ingress);
                self.signal(ingress, Kind::Pause);
            }
        }
    }

    /// The first packet that waits at a switch's port leaves.
    pub(crate) fn depart(&mut self, out: u32) -> u32 {
        let now = self.slots.now;
        let port = &mut self.ports[out as usize];
        let number = port.take(&self.next);
        let packet = self.packets[number as usize];
        let size = u32::from(packet.size);
        port.queue -= size;
        let queue = port.queue;
        let switch = port.switch as usize;
        if port.watched != NONE {
            self.watch(out);
        }
        let ingress = packet.link ^ 1;
        if self.pauses[switch] {
            self.buffers[switch].release(&mut self.ingress[ingress as usize], size);
            if self.asking[ingress as usize].is_pausing {
                self.may_resume(ingress);
            }
        } else {
            self.buffers[switch].release_lossy(size);
        }
        if !E::PLAIN && self.marks_at_departure && self.is_unmarkable(out, queue, packet) {
            self.lose(out, number, packet.flow);
            return 0;
        }
        if packet.kind == Kind::Data {
            let marks_here = self.marks_at_departure && (E::PLAIN || !packet.unmarkable);
            if marks_here && self.is_marked(out, queue) {
                self.packets[number as usize].marked = true;
            }
            self.note(out, number, packet);
        } else {
            self.control_hops += 1;
        }
        self.launch(out, number, size, now);
        size
    }

    /// A packet is lost at a port, for want of room, or because it cannot be marked.
    #[cold]
    fn lose(&mut self, out: u32, number: u32, flow: u32) {
        self.ports[out as usize].drops += 1;
        self.free_packet(number);
        let pair = &mut self.pairs[flow as usize];
        pair.under_way -= 1;
        self.end.on_loss(&mut pair.ends);
        self.release(flow);
    }

    /// A data packet begins to leave a switch: books, and telemetry.
    #[inline]
    fn note(&mut self, out: u32, number: u32, packet: Packet) {
        if E::TELEMETRY {
            let (sent_bytes, queue_bytes) = self.books_of(out);
            let port = &self.ports[out as usize];
            let hop = &mut self.telemetry[number as usize]
                [usize::from(self.packets[number as usize].hop) - 1];
            *hop = Hop { rate: port.rate, time: self.slots.now, sent_bytes, queue_bytes };
        }
        let port = &mut self.ports[out as usize];
        port.packets += 1;
        port.bytes += u64::from(packet.size);
    }

    /// Whether a packet is marked that meets or leaves so many bytes.
    #[inline]
    fn is_marked(&mut self, out: u32, queue: u32) -> bool {
        let port = &mut self.ports[out as usize];
        if queue <= port.kmin {
            return false;
        }
        let is_marked = queue > port.kmax
            || self.coins[out as usize].uniform() < port.slope * f64::from(queue - port.kmin);
        port.marks += u64::from(is_marked);
        is_marked
    }

    /// Whether a packet would be marked and cannot be, so that it is dropped.
    fn is_unmarkable(&mut self, out: u32, queue: u32, packet: Packet) -> bool {
        let is_dropped = packet.unmarkable && self.is_marked(out, queue);
        self.ports[out as usize].marks -= u64::from(is_dropped);
        is_dropped
    }

    /// A switch asks for a pause: its port with the longest queue is congested, unless a pause made that wait.
    #[cold]
    fn blame(&mut self, ingress: u32) {
        let switch = self.ports[ingress as usize].switch;
        let class = ingress - self.line(ingress);
        let ports = class..class + self.lines;
        let longest = ports
            .filter(|&port| self.ports[port as usize].switch == switch)
            .max_by_key(|&port| self.ports[port as usize].queue);
        if let Some(port) = longest
            && !self.ports[port as usize].was_paused
        {
            self.ports[port as usize].congested_at = Some(self.slots.now);
        }
    }

    #[cold]
    fn may_resume(&mut self, ingress: u32) {
        let switch = self.ports[ingress as usize].switch as usize;
        let (buffer, own) = (&self.buffers[switch], &self.ingress[ingress as usize]);
        let signal = self.asking[ingress as usize].on_departure(|| buffer.is_under(own));
        if signal.is_some() {
            self.signal(ingress, Kind::Resume);
        }
    }

    /// A switch's port tells its partner something.
    #[cold]
    fn signal(&mut self, port: u32, kind: Kind) {
        let size = self.sizes.pause as u16;
        let number = self.new_packet(Packet { size, kind, ..Packet::default() });
        self.launch_first(port, number, u32::from(size));
    }

    #[cold]
    pub(crate) fn on_signal(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        self.free_packet(number);
        let told = packet.link ^ 1;
        let signal = if packet.kind == Kind::Pause { Signal::Pause } else { Signal::Resume };
        if !self.obeying[told as usize].on_signal(now, signal) {
            return;
        }
        let port = &mut self.ports[told as usize];
        port.is_paused = signal == Signal::Pause;
        if port.is_paused {
            port.was_paused = true;
            self.pause_count += 1;
            if !self.is_check_due && self.deadlock.is_none() {
                self.check_later();
            }
        } else if port.switch == NONE {
            self.wake_host(told);
        } else if port.head != NONE && !self.ports[self.line(told) as usize].is_waiting {
            self.await_free(told);
        }
    }

    #[cold]
    pub(crate) fn check(&mut self, number: u32) {
        self.free_packet(number);
        self.is_check_due = false;
        self.find_deadlock();
        if self.deadlock.is_none() && self.ports.iter().any(|port| port.is_paused) {
            self.check_later();
        }
    }

    fn check_later(&mut self) {
        self.is_check_due = true;
        let check = self.new_packet(Packet { kind: Kind::Check, ..Packet::default() });
        self.push(self.slots.now + CHECK_INTERVAL, check);
    }
}

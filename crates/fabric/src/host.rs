//! Hosts: transfers that begin and end, their turns at the NIC, and what arrives for them.

use vermilion_rdma::Hop;

use crate::end::{Arrival, End, Then};
use crate::engine::Engine;
use crate::packet::{Kind, Packet};
use crate::pair::Pair;
use crate::slots::{NEVER, NONE};
use crate::traffic::Transfer;

impl<E: End> Engine<E> {
    /// The next transfer begins.
    pub(crate) fn begin(&mut self) {
        let now = self.slots.now;
        let number = self.begun;
        let transfer = self.transfers[number];
        self.begun += 1;
        let Transfer { source, destination, bytes, .. } = transfer;
        let payload = u64::from(self.sizes.payload);
        let packets = bytes.div_ceil(payload) as u32;
        let last_payload = (bytes + payload - u64::from(packets) * payload) as u32;
        let class = self.class_of(transfer.class) * self.lines;
        let flow = self.free_pairs.pop().unwrap_or(self.pairs.len() as u32);
        let way = flow as usize * 2 * self.half;
        if self.ways.len() <= way {
            self.ways.resize(way + 2 * self.half, NONE);
        }
        let transport = self.transports[number];
        let there = (source, destination, transport);
        let mut links = 0;
        for (half, (from, to, transport)) in
            [there, (destination, source, transport.rotate_left(16))].into_iter().enumerate()
        {
            let begin = way + half * self.half;
            let mut at = begin;
            self.topology.way(from, to, transport, |port| {
                self.ways[at] = port + class;
                at += 1;
            });
            links = (at - begin) as u8;
        }
        let pair = Pair {
            ends: self.end.begin(transfer.sender, packets, last_payload, now),
            is_ready: false,
            is_done: false,
            uplink: self.topology.uplink[source as usize] + class,
            transfer: number as u32,
            under_way: 0,
            timer: NONE,
            timer_at: NEVER,
            links,
            paused_before: 0,
        };
        if flow as usize == self.pairs.len() {
            self.pairs.push(pair);
        } else {
            self.pairs[flow as usize] = pair;
        }
        if self.pause_count > 0 {
            self.pairs[flow as usize].paused_before = self.paused_on_way(flow);
        }
        if let Some((_, time)) = self.end.on_silence(&mut self.pairs[flow as usize].ends, now) {
            let timer =
                Packet { flow, number: number as u32, kind: Kind::Timeout, ..Packet::default() };
            let timer = self.new_packet(timer);
            self.push(time, timer);
        }
        self.settle(flow);
        self.release(flow);
    }

    /// A transfer stands in the NIC's turns if its sender wants one.
    #[inline]
    fn line_up(&mut self, flow: u32) -> bool {
        let now = self.slots.now;
        let uplink = self.pairs[flow as usize].uplink;
        let free_at = self.ports[self.line(uplink) as usize].free_at;
        let pair = &mut self.pairs[flow as usize];
        let wants = self.end.wants_turn(&mut pair.ends, now, free_at);
        pair.is_ready = wants;
        if wants {
            self.ready[uplink as usize].push_back(flow);
            self.join(uplink);
        }
        wants
    }

    /// Something has happened to a transfer: it waits for its turn, and for its deadline.
    fn settle(&mut self, flow: u32) {
        if !self.pairs[flow as usize].is_ready && self.line_up(flow) {
            self.wake_host(self.pairs[flow as usize].uplink);
        }
        self.arm(flow);
    }

    /// A transfer's timer is set, unless one is under way that is due no later.
    #[inline]
    fn arm(&mut self, flow: u32) {
        let now = self.slots.now;
        let pair = &mut self.pairs[flow as usize];
        let deadline = self.end.deadline(&pair.ends, now);
        if deadline < pair.timer_at {
            let time = deadline.max(now);
            let timer = self.new_packet(Packet { flow, kind: Kind::Wake, ..Packet::default() });
            let pair = &mut self.pairs[flow as usize];
            (pair.timer, pair.timer_at) = (timer, time);
            pair.under_way += 1;
            self.push(time, timer);
        }
    }

    /// A transfer's timer goes off.
    pub(crate) fn on_timer(&mut self, number: u32, flow: u32) {
        self.free_packet(number);
        let pair = &mut self.pairs[flow as usize];
        pair.under_way -= 1;
        if pair.timer != number {
            return self.release(flow);
        }
        (pair.timer, pair.timer_at) = (NONE, NEVER);
        if pair.is_done {
            return self.release(flow);
        }
        if let Some(load) = self.end.on_timer(&mut pair.ends, self.slots.now) {
            pair.under_way += 1;
            let number = self.new_packet(Packet::default());
            self.loads[number as usize] = load;
            self.answer(number, flow, Packet { unmarkable: true, ..Packet::default() });
        }
        self.settle(flow);
    }

    /// A transfer may have to go back.
    #[cold]
    pub(crate) fn on_timeout(&mut self, number: u32, packet: Packet) {
        let pair = &mut self.pairs[packet.flow as usize];
        if pair.transfer != packet.number || pair.is_done {
            return self.free_packet(number);
        }
        let looked = self.end.on_silence(&mut pair.ends, self.slots.now);
        let Some((goes_back, time)) = looked else { return self.free_packet(number) };
        if goes_back {
            self.settle(packet.flow);
        }
        self.push(time, number);
    }

    /// A NIC may have something to send.
    #[inline]
    pub(crate) fn wake_host(&mut self, uplink: u32) {
        let line = self.line(uplink);
        let port = &self.ports[line as usize];
        if port.is_waiting || self.ports[uplink as usize].is_paused {
            return;
        }
        if port.free_at > self.slots.now {
            self.await_free(uplink);
        } else if !E::PLAIN && self.classes.len() > 1 {
            self.serve_classes(line);
        } else {
            self.serve_host(uplink);
        }
    }

    /// A NIC that is free sends the next packet, of the only class.
    pub(crate) fn serve_host(&mut self, uplink: u32) {
        if self.ports[uplink as usize].is_paused {
            return;
        }
        self.serve(uplink);
        if self.ports[uplink as usize].head != NONE || !self.ready[uplink as usize].is_empty() {
            self.await_free(uplink);
        }
    }

    /// A NIC that is free sends the next packet: of an acknowledgement that waits, or of the transfer whose turn it is.
    /// Returns its size; 0 if none can be sent.
    #[inline]
    pub(crate) fn serve(&mut self, uplink: u32) -> u32 {
        let now = self.slots.now;
        let port = &mut self.ports[uplink as usize];
        if port.head != NONE {
            let number = port.take(&self.next);
            let size = u32::from(self.packets[number as usize].size);
            port.queue -= size;
            self.control_hops += 1;
            self.launch(uplink, number, size, now);
            return size;
        }
        while let Some(flow) = self.ready[uplink as usize].pop_front() {
            let pair = &mut self.pairs[flow as usize];
            pair.is_ready = false;
            let next = if pair.is_done { None } else { self.end.next(&mut pair.ends, now) };
            let Some((packet, load)) = next else {
                if pair.is_done {
                    self.release(flow);
                } else {
                    self.arm(flow);
                }
                continue;
            };
            pair.under_way += 1;
            let size = u32::from(packet.size);
            let number = self.new_packet(Packet { flow, ..packet });
            self.loads[number as usize] = load;
            let port = &mut self.ports[uplink as usize];
            port.packets += 1;
            port.bytes += u64::from(size);
            self.launch(uplink, number, size, now);
            if !self.line_up(flow) {
                self.arm(flow);
            }
            return size;
        }
        0
    }

    /// A packet comes to a host.
    pub(crate) fn deliver(&mut self, number: u32, packet: Packet) {
        if packet.kind != Kind::Data {
            return self.on_answer(number, packet);
        }
        let now = self.slots.now;
        let flow = packet.flow;
        let pair = &mut self.pairs[flow as usize];
        let load = &mut self.loads[number as usize];
        let reply = self.end.on_packet(&mut pair.ends, Arrival { now, packet, load, hops: &[] });
        if reply.notifies {
            pair.under_way += 1;
            let (size, kind) = (self.sizes.notification as u16, Kind::Notification);
            let told = self.new_packet(Packet { flow, size, kind, ..Packet::default() });
            let back = self.ways[flow as usize * 2 * self.half + self.half];
            self.launch_first(back, told, u32::from(size));
        }
        if let Some(acknowledgement) = reply.acknowledgement {
            return self.answer(number, flow, acknowledgement);
        }
        self.free_packet(number);
        self.pairs[flow as usize].under_way -= 1;
        self.arm(flow);
        self.release(flow);
    }

    /// A receiver sends an acknowledgement, in the place of the packet that it answers.
    fn answer(&mut self, number: u32, flow: u32, packet: Packet) {
        let (size, kind) = (self.sizes.acknowledgement as u16, Kind::Acknowledgement);
        self.packets[number as usize] = Packet { flow, size, kind, ..packet };
        let back = self.ways[flow as usize * 2 * self.half + self.half];
        let port = &mut self.ports[back as usize];
        if !self.acknowledgements_first && (port.is_paused || port.head != NONE) {
            port.append(&mut self.next, number, u32::from(size));
            return self.join(back);
        }
        self.launch_first(back, number, u32::from(size));
    }

    /// An acknowledgement or a notification has come back.
    fn on_answer(&mut self, number: u32, packet: Packet) {
        let now = self.slots.now;
        let flow = packet.flow;
        self.free_packet(number);
        let pair = &mut self.pairs[flow as usize];
        pair.under_way -= 1;
        if pair.is_done {
            return self.release(flow);
        }
        let hops: &[Hop] = if E::TELEMETRY {
            &self.telemetry[number as usize][..usize::from(pair.links) - 1]
        } else {
            &[]
        };
        let load = &mut self.loads[number as usize];
        match self.end.on_answer(&mut pair.ends, Arrival { now, packet, load, hops }) {
            Then::Nothing => {}
            Then::Settle => self.settle(flow),
            Then::Retime => {
                pair.timer_at = NEVER;
                self.settle(flow);
            }
            Then::Done => self.complete(flow),
        }
    }

    /// Time that the links of a transfer's way have been paused so far.
    fn paused_on_way(&self, flow: u32) -> u64 {
        let now = self.slots.now;
        self.way_of(flow).iter().map(|&port| self.obeying[port as usize].paused(now)).sum()
    }

    fn way_of(&self, flow: u32) -> &[u32] {
        let way = flow as usize * 2 * self.half;
        &self.ways[way..way + usize::from(self.pairs[flow as usize].links)]
    }

    /// A transfer is done: its last acknowledgement has arrived.
    fn complete(&mut self, flow: u32) {
        let now = self.slots.now;
        let pair = &mut self.pairs[flow as usize];
        pair.is_done = true;
        let (transfer, before) = (pair.transfer as usize, pair.paused_before);
        self.finished[transfer] = now;
        if self.pause_count > 0 && self.paused_on_way(flow) > before {
            let start = self.transfers[transfer].start;
            let mut way = self.way_of(flow).iter();
            self.is_victim[transfer] = !way
                .any(|&port| self.ports[port as usize].congested_at.is_some_and(|at| at >= start));
        }
        self.left -= 1;
        if self.left == 0 {
            self.bound = 0;
        }
        self.release(flow);
    }

    /// Forgets a transfer of which nothing is under way any more. A source that will send no more is done then.
    pub(crate) fn release(&mut self, flow: u32) {
        let pair = &mut self.pairs[flow as usize];
        if pair.is_done && pair.under_way == 0 && !pair.is_ready {
            pair.under_way = NONE;
            pair.transfer = NONE;
            self.free_pairs.push(flow);
        } else if self.end.is_over(&pair.ends) && pair.under_way == 0 {
            self.complete(flow);
        }
    }
}

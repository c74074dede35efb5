use vermilion_parameters::{Bytes, Packets, ParameterError, settings};

use crate::discipline::keeps;
use crate::fattest::Fattest;
use crate::{Coin, Packet, Standing};

/// In the place of a number: the end of a list.
pub(crate) const NONE: u32 = u32::MAX;
/// How many keys the hash can have.
pub(crate) const KEYS: f64 = 4_294_967_296.0;

settings! {
    /// Settings that say which flow belongs to which queue.
    pub FlowHash;
    /// queues into which flows are hashed; not to be changed while running
    flows: u32 = 1024 in [1, 65536], "Linux";
    /// which hash function; automatic: drawn by the queue; not to be changed while running
    perturbation: Option<u32> = automatic in [0, 4_294_967_295_u32],
        "RFC 8290, section 4.1.1: flows that collide differ from queue to queue";
}

settings! {
    /// Settings of queues that take turns as in RFC 8290.
    pub FlowTurns;
    ..hash: FlowHash;
    /// packets the buffer holds, of all flows together
    limit: Packets<u32> = 10240 in [1, 1e9], "Linux";
    /// bytes that a flow may send in a turn
    quantum: Bytes<u32> = 1514 in [256, 1_048_576],
        "RFC 8290, section 5.2.4; Linux: the device's MTU";
}

/// One takes one line of the cache, and so does a queue: they are reached in the order of the turns, which
/// is no order of memory.
#[repr(align(64))]
#[derive(Clone, Debug)]
struct Slot<P> {
    packet: Option<P>,
    arrived: u64,
    /// The next packet of the same queue, or the next free slot.
    next: u32,
}

#[repr(align(64))]
#[derive(Clone, Debug)]
struct Queue<C> {
    head: u32,
    tail: u32,
    /// The queue after it in its list.
    next: u32,
    listed: bool,
    /// True if its bytes are known to have changed since somebody asked which queue holds most; until then all are.
    noted: bool,
    deficit: i64,
    /// Bytes waiting in it.
    backlog: u64,
    control: C,
}

/// Packets that wait, and free places.
#[derive(Clone, Debug)]
pub(crate) struct Slab<P> {
    slots: Vec<Slot<P>>,
    free: u32,
}

/// One of the queues, looked up once for all that is done with it, and what it shares with the others.
pub(crate) struct Chosen<'a, P, C> {
    number: usize,
    it: &'a mut Queue<C>,
    slab: &'a mut Slab<P>,
    fattest: &'a mut Fattest,
    waiting: &'a mut Standing,
}

/// Queues in the order of their turns.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

/// Queues of many flows that take turns: what the flow-queueing disciplines have in common.
///
/// Source: T. Hoeiland-Joergensen et al., "The Flow Queue CoDel Packet Scheduler and Active Queue
/// Management Algorithm", RFC 8290, 2018, sections 3 and 4, as Linux 6.12 has it
/// (`net/sched/sch_fq_codel.c`, `sch_fq_pie.c`; facts, not code).
///
/// State: a queue for each value of the hash, with what its controller knows and a deficit in bytes;
/// a list of new queues and one of old ones. A queue in neither list that is given a packet becomes
/// the last of the new ones, with a quantum. The first new queue has the turn, or without new ones
/// the first old one. If its deficit is used up, it gets another quantum and becomes the last old
/// one; if it is empty, a new one becomes the last old one (so that it cannot be new again at once)
/// unless there are none, and an old one leaves the list. Every packet sent is charged.
///
/// Departure from both: a link that has nothing left to send asks nobody for a packet, so a queue that has run
/// empty is only looked at, and leaves its list, once another packet waits. Until then a flow that comes back
/// finds its queue in its old place. RFC 8290 and a root qdisc of Linux ask until nothing is left. Below htb,
/// which does not ask an empty leaf, Linux does as here.
///
/// Which flows share a queue is up to a hash with a key. As in Linux, where it is drawn at boot, each
/// queue draws one of its own, with its first packet, unless the key is given.
///
/// Packets stand in one slab, linked to the next of their queue, and so do queues in the lists:
/// nothing is allocated for a packet once as many as ever wait at once have waited.
///
/// `C` is what the discipline's controller knows of each queue.
#[derive(Clone, Debug)]
pub(crate) struct FlowQueues<P, C> {
    slab: Slab<P>,
    queues: Vec<Queue<C>>,
    fattest: Fattest,
    new: List,
    old: List,
    waiting: Standing,
    quantum: i64,
    hash: FlowHash,
    /// The one in force; `None` until it has been drawn.
    key: Option<u32>,
}

impl<P: Packet, C: Clone> FlowQueues<P, C> {
    /// Empty queues as the settings have them, each with `control`.
    pub(crate) fn new(hash: FlowHash, quantum: Bytes<u32>, control: C) -> Self {
        let queue = Queue {
            head: NONE,
            tail: NONE,
            next: NONE,
            listed: false,
            noted: true,
            deficit: 0,
            backlog: 0,
            control,
        };
        let empty = List { head: NONE, tail: NONE };
        Self {
            slab: Slab::default(),
            queues: vec![queue; hash.flows as usize],
            fattest: Fattest::default(),
            new: empty,
            old: empty,
            waiting: Standing::default(),
            quantum: i64::from(quantum.0),
            hash,
            key: hash.perturbation,
        }
    }

    /// Takes another quantum; what says which flow belongs to which queue cannot change.
    pub(crate) fn set_anew(
        &mut self,
        hash: FlowHash,
        quantum: Bytes<u32>,
    ) -> Result<(), ParameterError> {
        keeps("flows", self.hash.flows, hash.flows)?;
        keeps("perturbation", self.hash.perturbation, hash.perturbation)?;
        self.quantum = i64::from(quantum.0);
        Ok(())
    }

    /// The queue of a flow: a hash whose bits each depend on all bits of the flow's identity. The
    /// first call draws the key from `coin` unless it was given.
    #[inline]
    pub(crate) fn queue_of(&mut self, flow: u32, coin: &mut impl Coin) -> usize {
        let key = match self.key {
            Some(key) => key,
            None => self.draw_key(coin),
        };
        ((u64::from(scattered(flow, key)) * self.queues.len() as u64) >> 32) as usize
    }

    #[cold]
    #[inline(never)]
    fn draw_key(&mut self, coin: &mut impl Coin) -> u32 {
        *self.key.insert((coin.uniform() * KEYS) as u32)
    }

    /// Puts a packet at the end of a queue.
    #[inline(always)] // a call would have the packet written to memory
    pub(crate) fn push(&mut self, queue: usize, packet: P, now: u64) {
        let quantum = self.quantum;
        self.push_with(queue, packet, now, |_| quantum);
    }

    /// Puts a packet at the end of a queue. If that is in no list, `deficit` says what it has now, by
    /// what it had left.
    #[inline(always)] // likewise
    pub(crate) fn push_with(
        &mut self,
        queue: usize,
        packet: P,
        now: u64,
        deficit: impl FnOnce(i64) -> i64,
    ) {
        let size = u64::from(packet.size());
        let place = self.slab.put(packet, now);
        let it = &mut self.queues[queue];
        self.slab.link(place, &mut it.head, &mut it.tail);
        it.backlog += size;
        it.note_change(queue, &mut self.fattest);
        if !it.listed {
            it.listed = true;
            it.deficit = deficit(it.deficit);
            append(&mut self.new, &mut self.queues, queue as u32);
        }
        self.waiting.packets += 1;
        self.waiting.bytes += size;
    }

    /// The queue that has the turn, which may be empty; `None` if no queue is in a list.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<Chosen<'_, P, C>> {
        loop {
            let list = if self.new.head == NONE { &mut self.old } else { &mut self.new };
            let queue = list.head;
            let it = self.queues.get_mut(queue as usize)?;
            if it.deficit > 0 {
                return Some(self.choose(queue as usize));
            }
            it.deficit += self.quantum;
            list.head = it.next;
            append(&mut self.old, &mut self.queues, queue);
        }
    }

    /// The queue that has the turn is empty.
    #[inline]
    pub(crate) fn pass(&mut self, queue: usize) {
        let was_new = self.new.head == queue as u32;
        let list = if was_new { &mut self.new } else { &mut self.old };
        let it = &mut self.queues[queue];
        list.head = it.next;
        if was_new && self.old.head != NONE {
            append(&mut self.old, &mut self.queues, queue as u32);
        } else {
            it.listed = false;
        }
    }

    /// The queue that has the turn is empty, and a new one becomes an old one even if there are no
    /// others. Whether it has left the lists.
    #[inline]
    pub(crate) fn pass_to_old(&mut self, queue: usize) -> bool {
        let was_new = self.new.head == queue as u32;
        let list = if was_new { &mut self.new } else { &mut self.old };
        let it = &mut self.queues[queue];
        list.head = it.next;
        it.listed = was_new;
        if was_new {
            append(&mut self.old, &mut self.queues, queue as u32);
        }
        !was_new
    }

    /// One of the queues.
    #[inline]
    fn choose(&mut self, number: usize) -> Chosen<'_, P, C> {
        Chosen {
            number,
            it: &mut self.queues[number],
            slab: &mut self.slab,
            fattest: &mut self.fattest,
            waiting: &mut self.waiting,
        }
    }

    /// State that the controller keeps of a queue.
    #[inline]
    pub(crate) fn control(&mut self, queue: usize) -> &mut C {
        &mut self.queues[queue].control
    }

    /// State that the controller keeps of every queue.
    pub(crate) fn controls(&mut self) -> impl Iterator<Item = &mut C> {
        self.queues.iter_mut().map(|queue| &mut queue.control)
    }

    /// State that the controller keeps of the queues in which packets wait.
    pub(crate) fn busy(&self) -> impl Iterator<Item = &C> {
        self.queues.iter().filter(|it| it.backlog > 0).map(|it| &it.control)
    }

    /// Bytes waiting in a queue.
    #[inline]
    pub(crate) fn backlog(&self, queue: usize) -> u64 {
        self.queues[queue].backlog
    }

    /// The queue in which most bytes wait, the first of those alike.
    #[cold]
    pub(crate) fn fattest(&mut self) -> Chosen<'_, P, C> {
        let queues = &mut self.queues;
        let fattest = self.fattest.find(queues.len(), |queue| {
            let it = &mut queues[queue];
            it.noted = false;
            it.backlog
        });
        self.choose(fattest)
    }

    /// Packets waiting.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.waiting.packets as usize
    }

    /// Bytes waiting.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.waiting.bytes
    }

    /// Shows every packet that waits.
    pub(crate) fn each(&self, look: &mut impl FnMut(&P)) {
        self.slab.each(look);
    }
}

/// A hash whose bits each depend on all bits of `identity`.
#[inline]
pub(crate) fn scattered(identity: u32, key: u32) -> u32 {
    // The constants are those of MurmurHash3's last step (A. Appleby) and the golden ratio.
    let mut hash = identity ^ key.wrapping_mul(0x9e37_79b9);
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

impl<P> Default for Slab<P> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }
}

impl<P: Packet> Slab<P> {
    /// The packet at `place`.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> Option<&P> {
        self.slots.get(place as usize)?.packet.as_ref()
    }

    /// The place after it in its queue.
    #[inline]
    pub(crate) fn next(&self, place: u32) -> Option<u32> {
        self.slots.get(place as usize).map(|slot| slot.next)
    }

    /// Shows every packet.
    pub(crate) fn each(&self, look: &mut impl FnMut(&P)) {
        self.slots.iter().filter_map(|slot| slot.packet.as_ref()).for_each(look);
    }

    /// Takes the packet at `place` out: the packet, when it arrived, and the place after it.
    #[inline(always)] // a call would have the packet written to memory
    pub(crate) fn take(&mut self, place: u32) -> Option<(P, u64, u32)> {
        let slot = self.slots.get_mut(place as usize)?;
        let packet = slot.packet.take()?;
        let next = std::mem::replace(&mut slot.next, self.free);
        self.free = place;
        Some((packet, slot.arrived, next))
    }

    /// Takes the packet after `before` out, which is not the last of its queue; the first one after [`NONE`].
    pub(crate) fn unlink(&mut self, before: u32, head: &mut u32) -> Option<(P, u64)> {
        let place = if before == NONE { *head } else { self.next(before)? };
        let (packet, arrived, next) = self.take(place)?;
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.next = next,
            None => *head = next,
        }
        Some((packet, arrived))
    }

    /// The packet at `place` becomes the last one of a queue. Whether there are others cannot be guessed, so nothing
    /// branches by it: the first one comes behind itself for a moment.
    #[inline]
    pub(crate) fn link(&mut self, place: u32, head: &mut u32, tail: &mut u32) {
        let is_first = *head == NONE;
        let last = if is_first { place } else { *tail };
        *head = if is_first { place } else { *head };
        *tail = place;
        self.slots[last as usize].next = place;
        self.slots[place as usize].next = NONE;
    }

    /// Keeps a packet: where.
    #[inline]
    pub(crate) fn put(&mut self, packet: P, now: u64) -> u32 {
        if let Some(slot) = self.slots.get_mut(self.free as usize) {
            // Each field to its place: together they would be written somewhere else first.
            slot.packet = Some(packet);
            slot.arrived = now;
            std::mem::replace(&mut self.free, slot.next)
        } else {
            self.slots.push(Slot { packet: Some(packet), arrived: now, next: NONE });
            (self.slots.len() - 1) as u32
        }
    }
}

impl<C> Queue<C> {
    /// Its bytes change; it is the queue of that number.
    #[inline]
    fn note_change(&mut self, number: usize, fattest: &mut Fattest) {
        if !self.noted {
            self.noted = true;
            fattest.note_change(number);
        }
    }
}

impl<P: Packet, C> Chosen<'_, P, C> {
    /// Its number.
    #[inline]
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Takes its first packet out, and when it arrived.
    #[inline(always)] // a call would have the packet written to memory
    pub(crate) fn pop(&mut self) -> Option<(P, u64)> {
        let (packet, arrived, next) = self.slab.take(self.it.head)?;
        self.it.head = next;
        let size = u64::from(packet.size());
        self.it.backlog -= size;
        self.it.note_change(self.number, self.fattest);
        self.waiting.packets -= 1;
        self.waiting.bytes -= size;
        Some((packet, arrived))
    }

    /// A packet of `size` bytes is sent, in its turn.
    #[inline]
    pub(crate) fn charge(&mut self, size: u32) {
        self.it.deficit -= i64::from(size);
    }

    /// State that the controller keeps of it.
    #[inline]
    pub(crate) fn control(&mut self) -> &mut C {
        &mut self.it.control
    }

    /// Bytes waiting in it.
    #[inline]
    pub(crate) fn backlog(&self) -> u64 {
        self.it.backlog
    }

    /// Packets waiting in all queues.
    #[inline]
    pub(crate) fn waiting(&self) -> Standing {
        *self.waiting
    }
}

/// Makes `queue` the last of a list.
#[inline]
fn append<C>(list: &mut List, queues: &mut [Queue<C>], queue: u32) {
    queues[queue as usize].next = NONE;
    if list.head == NONE {
        list.head = queue;
    } else {
        queues[list.tail as usize].next = queue;
    }
    list.tail = queue;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    struct Nothing;

    impl Packet for Nothing {
        fn size(&self) -> u32 {
            1
        }

        fn ecn(&self) -> Ecn {
            Ecn::NotCapable
        }

        fn mark(&mut self) {}
    }

    fn queues(perturbation: Option<u32>) -> FlowQueues<Nothing, ()> {
        FlowQueues::new(FlowHash { perturbation, ..Default::default() }, Bytes(1514), ())
    }

    /// A coin for queues that draw their key, if they draw no more than one.
    fn one_coin(value: f64) -> impl Coin {
        let mut left = Some(value);
        move || left.take().expect("the key is drawn once")
    }

    #[test]
    fn flows_are_spread_as_if_each_drew_its_queue() {
        for perturbation in [None, Some(0), Some(1), Some(u32::MAX)] {
            let mut queues = queues(perturbation);
            let mut found = vec![0_u32; 1024];
            let mut coin = one_coin(0.3);
            // As the simulator numbers them: data of flow after flow.
            (0..102_400).for_each(|flow| found[queues.queue_of(2 * flow, &mut coin)] += 1);
            let square = |&count: &u32| (f64::from(count) - 100.0).powi(2) / 100.0;
            let chi_square: f64 = found.iter().map(square).sum();
            // Mean 1023, standard deviation sqrt(2 x 1023) = 45.2; four of them.
            assert!((chi_square - 1023.0).abs() < 181.0, "{perturbation:?}: {chi_square}");
        }
    }

    /// Pairs of 60 flows that share a queue.
    fn pairs(queues: &mut FlowQueues<Nothing, ()>, mut coin: impl Coin) -> Vec<(u32, u32)> {
        let found: Vec<_> = (0..60).map(|flow| queues.queue_of(flow, &mut coin)).collect();
        let all = (0..60_u32).flat_map(|low| (low + 1..60).map(move |high| (low, high)));
        all.filter(|&(low, high)| found[low as usize] == found[high as usize]).collect()
    }

    #[test]
    fn another_perturbation_lets_other_flows_collide() {
        let none = || -> f64 { panic!("a given key is not drawn") };
        // 1770 pairs, one in 1024 of which collides.
        let one = pairs(&mut queues(Some(0)), none);
        let other = pairs(&mut queues(Some(1)), none);
        assert!(one.len() < 8 && other.len() < 8, "{one:?}, {other:?}");
        assert!(one.iter().all(|pair| !other.contains(pair)), "{one:?}, {other:?}");
    }

    #[test]
    fn without_a_perturbation_the_coin_chooses_it() {
        let given = pairs(&mut queues(Some(1 << 30)), || 0.0);
        assert_eq!(pairs(&mut queues(None), one_coin(0.25)), given);
        let drawn: Vec<_> = (0..40)
            .map(|number| pairs(&mut queues(None), one_coin(f64::from(number) / 40.0)))
            .collect();
        // Each of the 1770 pairs collides in one of 1024 draws: 69 +- 8 times in 40.
        let all: usize = drawn.iter().map(Vec::len).sum();
        assert!((36..=102).contains(&all), "{all}");
    }
}

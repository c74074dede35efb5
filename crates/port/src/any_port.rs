//! One queue, or a tree of them.

use vermilion_aqm::{
    AnyDiscipline, AnyScheduler, Coin, Discipline, DropReason, Dropped, LinkFacts, Packet, Queue,
    Scheduler, Sent, Standing, Visit,
};
use vermilion_parameters::{Algorithm, ParameterError, Settings, Values};

use crate::shape::Shape;
use crate::tree::Tree;

/// What stands in front of a transmitter: one queue, or a tree of them.
#[derive(Clone, Debug)]
pub enum AnyPort<P> {
    /// One queue.
    Plain(AnyScheduler<P>),
    /// A tree.
    Tree(Box<Tree<P>>),
}

/// Does the same with whichever it is.
macro_rules! either {
    ($port:expr, $it:ident => $call:expr) => {
        match $port {
            Self::Plain($it) => $call,
            Self::Tree($it) => $call,
        }
    };
}

impl<P: Packet> AnyPort<P> {
    /// An empty port of this shape in front of `link`, and all its values.
    ///
    /// # Errors
    /// An unknown scheduler or discipline (field `discipline`), classes that do not go together (`classes`), or a value that
    /// a table refuses (the parameter's name).
    pub fn from_shape(
        shape: &Shape,
        values: &Values,
        link: LinkFacts,
    ) -> Result<(Self, Values), ParameterError> {
        if !shape.classes.is_empty() || crate::registry::scheduler(&shape.discipline).is_some() {
            let (tree, values) = Tree::new(shape, values, link)?;
            return Ok((Self::Tree(Box::new(tree)), values));
        }
        let (queue, settings) = AnyScheduler::from_values(&shape.discipline, values, link)?;
        Ok((Self::Plain(queue), settings.to_values()))
    }

    /// Replaces the values of a running port, and says all of them; on error nothing changes.
    ///
    /// # Errors
    /// A value that a table refuses, or one that cannot change while running.
    pub fn set_values(&mut self, values: &Values, link: LinkFacts) -> Result<Values, ParameterError>
    where
        P: Clone,
    {
        match self {
            Self::Plain(queue) => Ok(queue.set_values(values, link)?.to_values()),
            Self::Tree(tree) => {
                // One of its queues may refuse what others have taken.
                let mut changed = tree.clone();
                let values = changed.set_values(values, link)?;
                *tree = changed;
                Ok(values)
            }
        }
    }

    /// The description of the discipline or the scheduler.
    #[must_use]
    pub fn algorithm(&self) -> &'static Algorithm {
        either!(self, it => it.algorithm())
    }

    /// Gives the discipline back in front of a first-in, first-out queue; packets that wait are lost.
    ///
    /// # Errors
    /// One that keeps the packets itself, as it is.
    pub fn into_discipline(self) -> Result<AnyDiscipline, Box<Self>> {
        match self {
            Self::Plain(queue) => {
                queue.into_discipline().map_err(|keeping| Box::new(Self::Plain(*keeping)))
            }
            tree => Err(Box::new(tree)),
        }
    }

    /// Drops all packets that wait, at `now`, of a first-in, first-out queue. Whether it is one.
    pub fn flush(&mut self, now: u64, dropped: &mut impl FnMut(P)) -> bool {
        match self {
            Self::Plain(queue) => queue.flush(now, dropped),
            Self::Tree(_) => false,
        }
    }

    /// Has `visit` done with the queue as what it is, by one look at that.
    #[inline(always)] // for every packet
    pub fn visit<V: Visit<P>>(&mut self, visit: V) -> V::Output {
        match self {
            Self::Plain(queue) => queue.visit(visit),
            Self::Tree(tree) => visit.visit(&mut **tree),
        }
    }

    /// Earliest time at which it may hand a packet over.
    #[inline]
    pub(crate) fn ready(&self) -> u64 {
        match self {
            // No queue's answer hangs on the kind of its coins.
            Self::Plain(queue) => Scheduler::<P, fn() -> f64>::ready_at(queue),
            Self::Tree(tree) => tree.ready(),
        }
    }
}

impl<P: Packet> Discipline for AnyPort<P> {
    fn watches_departures(&self) -> bool {
        either!(self, it => it.watches_departures())
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        either!(self, it => it.reconfigure(settings, link))
    }

    fn is_flushed_by_change(&self) -> bool {
        either!(self, it => it.is_flushed_by_change())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        either!(self, it => it.link_changed(link));
    }

    #[inline]
    fn average_queue(&self) -> Option<f64> {
        either!(self, it => it.average_queue())
    }

    fn drop_probability(&self) -> Option<f64> {
        either!(self, it => it.drop_probability())
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        either!(self, it => it.cause(reason))
    }
}

impl<P: Packet> Queue<P> for AnyPort<P> {
    #[inline]
    fn len(&self) -> usize {
        either!(self, it => it.len())
    }

    #[inline]
    fn bytes(&self) -> u64 {
        either!(self, it => it.bytes())
    }

    #[inline]
    fn standing(&self) -> Standing {
        either!(self, it => it.standing())
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        either!(self, it => it.each(look));
    }
}

impl<P: Packet, C: Coin> Scheduler<P, C> for AnyPort<P> {
    const READS_HOSTS: bool = true;
    const HOLDS_BACK: bool = true;

    #[inline]
    fn ready_at(&self) -> u64 {
        self.ready()
    }

    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        either!(self, it => it.enqueue(now, idle_since, packet, coin, dropped))
    }

    fn dequeue(
        &mut self,
        now: u64,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        either!(self, it => it.dequeue(now, coin, dropped))
    }
}

//! One queue, or a classifier and a scheduler over queues, each of which may be the same again.

use vermilion_aqm::{
    AnyDiscipline, AnyScheduler, Coin, Discipline, DropReason, Dropped, LinkFacts, Packet, Queue,
    Scheduler, Sent, Standing, Visit,
};
use vermilion_parameters::{Algorithm, ParameterError, Settings, Value, Values};

use crate::classifier::Classifier;
use crate::order::Order;
use crate::registry::{Named, SCHEDULERS, scheduler};
use crate::shape::{Parted, Shape, of_class, of_queue, parted};
use crate::shaped::ShapedSettings;

/// What stands in front of a transmitter: one queue, or a tree of them.
#[expect(clippy::large_enum_variant, reason = "nearly every port is one queue")]
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

/// A classifier, a queue for each class, and a scheduler that says whose turn it is.
///
/// A packet joins the queue of the class of its codepoint. When the link is free, the queue whose turn it is hands one
/// over, unless it drops all it has. Queues that hold packets back are passed over meanwhile.
///
/// What a queue is told of the link is about the link as a whole: its rate, below a shaper that one's, and since when it is idle.
#[derive(Clone, Debug)]
pub struct Tree<P> {
    named: &'static Named,
    classifier: Classifier,
    order: Order,
    classes: Vec<AnyPort<P>>,
    waiting: Standing,
}

impl<P: Packet> Tree<P> {
    /// An empty tree of this shape, and all its values.
    ///
    /// # Errors
    /// An unknown scheduler or discipline, classes that do not go together, or a value that a table refuses.
    pub(crate) fn new(
        shape: &Shape,
        values: &Values,
        link: LinkFacts,
    ) -> Result<(Self, Values), ParameterError> {
        let Some(named) = scheduler(&shape.discipline) else {
            let known = SCHEDULERS.iter().map(|each| each.algorithm.name);
            let words = "for a queue with classes, one of";
            return Err(ParameterError::unknown("discipline", &shape.discipline, words, known));
        };
        let count = shape.classes.len();
        if count > named.classes {
            let accepted = format!("at most {} of \"{}\"", named.classes, named.algorithm.name);
            return Err(ParameterError::new("classes", count, accepted));
        }
        let classifier = Classifier::of(&shape.classes)?;
        let Parted { own, of_classes, of_queues } = parted(values, count)?;
        let settings = Settings::resolve(&named.algorithm, &own)?;
        let mut all = settings.to_values();
        let weights = weights(named, &of_classes, &mut all)?;
        let order = Order::new(named.algorithm.name, &settings, &weights);
        let below = link_below(&order, &settings, link);
        let mut classes = Vec::with_capacity(count);
        for (number, (class, values)) in shape.classes.iter().zip(&of_queues).enumerate() {
            let (queue, values) = AnyPort::from_shape(&class.queue, values, below)
                .map_err(|error| error.under(&format!("classes.{number}.queue")))?;
            classes.push(queue);
            take_in(&mut all, number, values);
        }
        Ok((Self { named, classifier, order, classes, waiting: Standing::default() }, all))
    }

    /// Takes other values while running, and says all of them. After an error it is of no more use.
    pub(crate) fn set_values(
        &mut self,
        values: &Values,
        link: LinkFacts,
    ) -> Result<Values, ParameterError>
    where
        P: Clone,
    {
        let Parted { own, of_classes, of_queues } = parted(values, self.classes.len())?;
        let settings = Settings::resolve(&self.named.algorithm, &own)?;
        let mut all = settings.to_values();
        let weights = weights(self.named, &of_classes, &mut all)?;
        self.order.set(&settings, &weights);
        let below = link_below(&self.order, &settings, link);
        for (number, (queue, values)) in self.classes.iter_mut().zip(&of_queues).enumerate() {
            let values = queue
                .set_values(values, below)
                .map_err(|error| error.under(&format!("classes.{number}.queue")))?;
            take_in(&mut all, number, values);
        }
        Ok(all)
    }

    /// The description of the scheduler.
    pub(crate) fn algorithm(&self) -> &'static Algorithm {
        &self.named.algorithm
    }

    /// Does something with a class, which may change what waits in it.
    #[inline]
    fn with_class<T>(&mut self, class: usize, act: impl FnOnce(&mut AnyPort<P>) -> T) -> T {
        let queue = &mut self.classes[class];
        let before = queue.standing();
        let outcome = act(queue);
        let after = queue.standing();
        self.waiting.packets = self.waiting.packets - before.packets + after.packets;
        self.waiting.bytes = self.waiting.bytes - before.bytes + after.bytes;
        outcome
    }

    /// The class that may send at `now` and has the turn.
    #[inline]
    fn next(&mut self, now: u64) -> Option<usize> {
        let classes = &self.classes;
        let state = |class: usize| {
            let queue = &classes[class];
            (!queue.is_empty()).then(|| queue.ready() <= now)
        };
        self.order.next(now, classes.len(), state)
    }

    /// Earliest time at which it may hand a packet over.
    pub(crate) fn ready(&self) -> u64 {
        let busy = self.classes.iter().filter(|queue| !queue.is_empty());
        let ready = busy.map(AnyPort::ready).min().unwrap_or(0);
        ready.max(self.order.ready_at())
    }
}

/// The weights of classes, which all values get.
fn weights(
    named: &Named,
    of_classes: &[Values],
    all: &mut Values,
) -> Result<Vec<f64>, ParameterError> {
    let table = Algorithm { parameters: named.of_classes, ordered: &[], ..named.algorithm };
    let mut weights = Vec::with_capacity(of_classes.len());
    for (number, values) in of_classes.iter().enumerate() {
        let settings = Settings::resolve(&table, values)
            .map_err(|error| error.under(&format!("classes.{number}")))?;
        for (name, value) in settings.to_values() {
            if let Value::Number(weight) = value {
                weights.push(weight);
            }
            all.insert(of_class(number, &name), value);
        }
    }
    Ok(weights)
}

/// The link that the queues of classes are told.
fn link_below(order: &Order, settings: &Settings, link: LinkFacts) -> LinkFacts {
    match order {
        Order::Shaped(_) => {
            let rate = settings.read::<ShapedSettings>().rate.0;
            LinkFacts { rate: rate.min(link.rate), ..link }
        }
        _ => link,
    }
}

/// Takes the values of the queue of a class in.
fn take_in(all: &mut Values, class: usize, values: Values) {
    all.extend(values.into_iter().map(|(name, value)| (of_queue(class, &name), value)));
}

impl<P: Packet> Discipline for Tree<P> {
    fn watches_departures(&self) -> bool {
        true
    }

    /// Takes settings of the scheduler alone: [`AnyPort::set_values`] also takes those of classes.
    fn reconfigure(&mut self, settings: &Settings, _link: LinkFacts) -> Result<(), ParameterError> {
        let weights = vec![1.0; self.classes.len()];
        self.order.set(settings, &weights);
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        if !matches!(self.order, Order::Shaped(_)) {
            self.classes.iter_mut().for_each(|queue| queue.link_changed(link));
        }
    }

    /// That of the only class.
    fn average_queue(&self) -> Option<f64> {
        match &*self.classes {
            [queue] => queue.average_queue(),
            _ => None,
        }
    }

    /// The largest of those that the classes have.
    fn drop_probability(&self) -> Option<f64> {
        self.classes.iter().filter_map(Discipline::drop_probability).reduce(f64::max)
    }

    /// That of the only class; of several it is not known whose packet it was.
    fn cause(&self, reason: DropReason) -> &'static str {
        match &*self.classes {
            [queue] => queue.cause(reason),
            _ => reason.kind().choose("early", "forced", "limit"),
        }
    }
}

impl<P: Packet> Queue<P> for Tree<P> {
    #[inline]
    fn len(&self) -> usize {
        self.waiting.packets as usize
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.waiting.bytes
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        self.classes.iter().for_each(|queue| queue.each(look));
    }
}

impl<P: Packet, C: Coin> Scheduler<P, C> for Tree<P> {
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
        let class = self.classifier.class_of(packet.dscp());
        let marked =
            self.with_class(class, |queue| queue.enqueue(now, idle_since, packet, coin, dropped));
        if !self.classes[class].is_empty() {
            self.order.join(class);
        }
        marked
    }

    fn dequeue(
        &mut self,
        now: u64,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        loop {
            let class = self.next(now)?;
            let sent = self.with_class(class, |queue| queue.dequeue(now, coin, dropped));
            let Some(sent) = sent else { continue };
            self.order.charge(now, class, sent.packet.size());
            return Some(sent);
        }
    }
}

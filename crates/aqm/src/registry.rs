//! Every discipline by name. A new one adds one line to the list below.

use vermilion_parameters::{Algorithm, ParameterError, Settings, Values};

use crate::discipline::answered_by;
use crate::{
    AdaptiveRed, Arrival, Avq, Blue, Cake, Choke, Cobalt, Codel, Coin, Decide, Departure,
    Discipline, DropTail, Dropped, DualPi2, Ecn, Fifo, ForeignDiscipline, ForeignFactory,
    ForeignQueues, Fq, FqCodel, FqPie, LinkFacts, LinuxRed, Listed, Lred, NonlinearRed, Ns2Red,
    Packet, PdRed, Pi, Pie, Queue, Red, RedLight, Rem, Scheduler, SelfConfiguringRed, Sent, Sfb,
    Standing, Step, Verdict, Visit, Vred, Wred,
};

/// Generates what has a case for each discipline: those in front of one first-in, first-out queue,
/// and after the semicolon those that keep the packets themselves. `$dollar` is a dollar sign, for the
/// parameters of the macros that are generated.
macro_rules! registry {
    ($dollar:tt $($discipline:ident),* $(,)? ; $($scheduler:ident),* $(,)?) => {
        /// A discipline chosen at run time: static dispatch by one predictable branch.
        #[derive(Clone, Debug)]
        #[repr(u8)] // or else which one it is takes five steps to tell, for every packet
        pub enum AnyDiscipline {
            $(#[doc = concat!("[`", stringify!($discipline), "`]")] $discipline($discipline),)*
            /// One that none of the registry's lines names.
            Foreign(Box<dyn ForeignDiscipline>),
        }

        /// A queue of packets of type `P` under a discipline of either kind, chosen at run time.
        #[derive(Clone, Debug)]
        pub enum AnyScheduler<P> {
            $(#[doc = concat!("First in, first out, under [`", stringify!($discipline), "`]")]
            $discipline(Fifo<P, $discipline>),)*
            /// First in, first out, under one that none of the registry's lines names.
            Foreign(Fifo<P, Box<dyn ForeignDiscipline>>),
            $(#[doc = concat!("[`", stringify!($scheduler), "`]")] $scheduler($scheduler<P>),)*
            /// Queues of a discipline that none of the registry's lines names.
            ForeignQueues(ForeignQueues<P>),
        }

        /// Every discipline's description, in the order in which they are listed to users.
        pub const ALGORITHMS: &[Algorithm] = &[
            $(<$discipline as Listed>::ALGORITHM,)*
            $(<$scheduler<NoPacket> as Listed>::ALGORITHM,)*
        ];

        /// Does the same with whichever discipline it is.
        macro_rules! whichever_discipline {
            ($dollar any:expr, $dollar it:ident => $dollar call:expr) => {
                match $dollar any {
                    $(AnyDiscipline::$discipline($dollar it) => $dollar call,)*
                    AnyDiscipline::Foreign($dollar it) => $dollar call,
                }
            };
        }

        /// Does the same with whichever queue it is.
        macro_rules! whichever_scheduler {
            ($dollar any:expr, $dollar it:ident => $dollar call:expr) => {
                match $dollar any {
                    $(AnyScheduler::$discipline($dollar it) => $dollar call,)*
                    AnyScheduler::Foreign($dollar it) => $dollar call,
                    $(AnyScheduler::$scheduler($dollar it) => $dollar call,)*
                    AnyScheduler::ForeignQueues($dollar it) => $dollar call,
                }
            };
        }

        impl AnyDiscipline {
            /// The description of the discipline in force.
            #[must_use]
            pub fn algorithm(&self) -> &'static Algorithm {
                match self {
                    $(Self::$discipline(_) => &const { $discipline::ALGORITHM },)*
                    Self::Foreign(it) => it.algorithm(),
                }
            }
        }

        impl<P: Packet> AnyScheduler<P> {
            /// Builds the queue whose discipline is called `name` from checked settings.
            fn build(
                name: &str,
                settings: &Settings,
                link: LinkFacts,
            ) -> Option<Result<Self, ParameterError>> {
                $(if name == $scheduler::<P>::ALGORITHM.name {
                    return Some($scheduler::new(settings.read(), link).map(Self::$scheduler));
                })*
                $(if name == $discipline::ALGORITHM.name {
                    let built = $discipline::new(settings.read(), link);
                    return Some(built.map(|it| Self::$discipline(Fifo::around(it))));
                })*
                None
            }

            /// Gives the discipline back in front of a first-in, first-out queue; packets that wait are lost.
            ///
            /// # Errors
            /// One that keeps the packets itself, as it is.
            pub fn into_discipline(self) -> Result<AnyDiscipline, Box<Self>> {
                match self {
                    $(Self::$discipline(it) => Ok(AnyDiscipline::$discipline(it.into_discipline())),)*
                    Self::Foreign(it) => Ok(AnyDiscipline::Foreign(it.into_discipline())),
                    keeping => Err(Box::new(keeping)),
                }
            }

            /// Drops all packets that wait, at `now`, of a first-in, first-out queue. Whether it is one.
            pub fn flush(&mut self, now: u64, dropped: &mut impl FnMut(P)) -> bool {
                match self {
                    $(Self::$discipline(it) => it.flush(now, dropped),)*
                    Self::Foreign(it) => it.flush(now, dropped),
                    _ => return false,
                }
                true
            }

            /// The description of the discipline in force.
            #[must_use]
            pub fn algorithm(&self) -> &'static Algorithm {
                match self {
                    $(Self::$discipline(_) => &const { $discipline::ALGORITHM },)*
                    Self::Foreign(it) => it.discipline().algorithm(),
                    $(Self::$scheduler(_) => &const { $scheduler::<NoPacket>::ALGORITHM },)*
                    Self::ForeignQueues(it) => it.discipline().algorithm(),
                }
            }
        }
    };
}

registry! {
    $
    DropTail,
    Red,
    Ns2Red,
    SelfConfiguringRed,
    AdaptiveRed,
    NonlinearRed,
    PdRed,
    Vred,
    RedLight,
    Lred,
    LinuxRed,
    Rem,
    Pi,
    Blue,
    Sfb,
    Avq,
    Codel,
    Cobalt,
    Pie,
    Step,
    Wred,
    ; // Those that keep the packets themselves:
    Cake,
    Choke,
    DualPi2,
    Fq,
    FqCodel,
    FqPie,
}

/// Generates how either kind takes new settings.
macro_rules! takes_values {
    ($any:ty $(, $packet:ident: $what:ident)?) => {
        impl$(<$packet: $what>)? $any {
            /// Replaces the settings of a running discipline by a user's values; on error nothing changes.
            ///
            /// # Errors
            /// A value the table refuses, or one that cannot change while running.
            pub fn set_values(
                &mut self,
                values: &Values,
                link: LinkFacts,
            ) -> Result<Settings, ParameterError> {
                let settings = Settings::resolve(self.algorithm(), values)?;
                self.reconfigure(&settings, link)?;
                Ok(settings)
            }
        }
    };
}

takes_values!(AnyDiscipline);
takes_values!(AnyScheduler<P>, P: Packet);

impl AnyDiscipline {
    /// Builds the discipline called `name` in front of `link` from a user's values.
    ///
    /// # Errors
    /// A name that is unknown or belongs to a discipline that keeps the packets itself (field
    /// `discipline`), or a value its table refuses (the parameter's name).
    pub fn from_values(
        name: &str,
        values: &Values,
        link: LinkFacts,
    ) -> Result<(Self, Settings), ParameterError> {
        let (queue, settings) = AnyScheduler::<NoPacket>::from_values(name, values, link)?;
        let discipline = queue.into_discipline().map_err(|_| {
            let accepted = "a discipline in front of a first-in, first-out queue";
            ParameterError::new("discipline", format!("\"{name}\""), accepted)
        })?;
        Ok((discipline, settings))
    }
}

#[deny(clippy::missing_trait_methods)]
impl Discipline for AnyDiscipline {
    answered_by!(#[inline(always)] through whichever_discipline, it => *it);
}

#[deny(clippy::missing_trait_methods)]
impl<C: Coin> Decide<C> for AnyDiscipline {
    #[inline(always)] // where the quick disciplines decide, a call is dear
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut C) -> Verdict {
        whichever_discipline!(self, it => it.on_arrival(arrival, coin))
    }

    #[inline(always)]
    fn on_departure(&mut self, departure: &Departure, coin: &mut C) -> Verdict {
        whichever_discipline!(self, it => it.on_departure(departure, coin))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P: Packet> Discipline for AnyScheduler<P> {
    answered_by!(#[inline] through whichever_scheduler, it => *it);
}

impl<P: Packet> Queue<P> for AnyScheduler<P> {
    #[inline]
    fn len(&self) -> usize {
        whichever_scheduler!(self, it => it.len())
    }

    #[inline]
    fn bytes(&self) -> u64 {
        whichever_scheduler!(self, it => it.bytes())
    }

    #[inline]
    fn standing(&self) -> Standing {
        whichever_scheduler!(self, it => it.standing())
    }

    fn each(&self, look: &mut impl FnMut(&P)) {
        whichever_scheduler!(self, it => it.each(look));
    }
}

impl<P: Packet, C: Coin> Scheduler<P, C> for AnyScheduler<P> {
    const READS_HOSTS: bool = true;
    const HOLDS_BACK: bool = true;

    #[inline]
    fn ready_at(&self) -> u64 {
        whichever_scheduler!(self, it => Scheduler::<P, C>::ready_at(it))
    }

    fn enqueue(
        &mut self,
        now: u64,
        idle_since: Option<u64>,
        packet: P,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> bool {
        whichever_scheduler!(self, it => it.enqueue(now, idle_since, packet, coin, dropped))
    }

    fn dequeue(
        &mut self,
        now: u64,
        coin: &mut C,
        dropped: &mut impl FnMut(Dropped<P>),
    ) -> Option<Sent<P>> {
        whichever_scheduler!(self, it => it.dequeue(now, coin, dropped))
    }
}

impl<P: Packet> AnyScheduler<P> {
    /// Builds an empty queue under the discipline called `name` in front of `link` from a user's
    /// values.
    ///
    /// # Errors
    /// An unknown name (field `discipline`) or a value its table refuses (the parameter's name).
    pub fn from_values(
        name: &str,
        values: &Values,
        link: LinkFacts,
    ) -> Result<(Self, Settings), ParameterError> {
        let settings = Settings::resolve(find(name)?, values)?;
        let queue =
            Self::build(name, &settings, link).expect("every listed name has its discipline");
        Ok((queue?, settings))
    }

    /// Builds an empty queue under a discipline that `factory` makes from a user's values.
    ///
    /// # Errors
    /// A value its table or the discipline itself refuses.
    pub fn from_foreign(
        factory: &dyn ForeignFactory,
        values: &Values,
        link: LinkFacts,
    ) -> Result<(Self, Settings), ParameterError> {
        let settings = Settings::resolve(factory.algorithm(), values)?;
        let discipline = factory.make(&settings, link)?;
        let queue = match discipline.queues() {
            0 => Self::Foreign(Fifo::around(discipline)),
            _ => Self::ForeignQueues(ForeignQueues::around(discipline)),
        };
        Ok((queue, settings))
    }

    /// Has `visit` done with the queue as what it is, by one look at that.
    #[inline(always)] // for every packet
    pub fn visit<V: Visit<P>>(&mut self, visit: V) -> V::Output {
        whichever_scheduler!(self, it => visit.visit(it))
    }
}

fn find(name: &str) -> Result<&'static Algorithm, ParameterError> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name).ok_or_else(|| {
        let known = ALGORITHMS.iter().map(|algorithm| algorithm.name);
        ParameterError::unknown("discipline", name, "one of", known)
    })
}

/// In the place of packets where only a description is wanted; there is none.
#[derive(Clone, Copy, Debug)]
enum NoPacket {}

impl Packet for NoPacket {
    fn size(&self) -> u32 {
        match *self {}
    }

    fn ecn(&self) -> Ecn {
        match *self {}
    }

    fn mark(&mut self) {}
}

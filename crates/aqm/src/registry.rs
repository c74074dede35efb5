//! Every discipline by name. A new one adds one line to the list below.

use vermilion_parameters::{Algorithm, ParameterError, Settings, Values};

use crate::{
    AdaptiveRed, Advisor, Arrival, Avq, Blue, Choke, Cobalt, Codel, Coin, Departure, Discipline,
    DropTail, Dropped, DualPi2, Ecn, Fifo, ForeignDiscipline, ForeignFactory, FqCodel, FqPie, Link,
    LinuxRed, Lred, NonlinearRed, Ns2Red, Packet, PdRed, Pi, Pie, Red, RedLight, Rem, Scheduler,
    SelfConfiguringRed, Sent, Step, Verdict, Vred, Wred,
};

/// Generates what has a case for each discipline: those in front of one first-in, first-out queue,
/// and after the semicolon those that keep the packets themselves.
macro_rules! registry {
    ($($discipline:ident),* $(,)? ; $($scheduler:ident),* $(,)?) => {
        /// A discipline chosen at run time: static dispatch by one predictable branch.
        #[derive(Clone, Debug)]
        pub enum AnyDiscipline {
            $(#[doc = concat!("[`", stringify!($discipline), "`]")] $discipline($discipline),)*
            /// One that none of the registry's lines names.
            Foreign(Box<dyn ForeignDiscipline>),
        }

        /// Every discipline's description, in the order in which they are listed to users.
        pub const ALGORITHMS: &[Algorithm] = &[
            $(<$discipline as Discipline>::ALGORITHM,)*
            $(<$scheduler<NoPacket> as Scheduler<NoPacket>>::ALGORITHM,)*
        ];

        impl AnyDiscipline {
            /// Builds the discipline called `name` from checked settings; `None` if there is none, or
            /// it keeps packets.
            fn build(
                name: &str,
                settings: &Settings,
                link: Link,
            ) -> Option<Result<Self, ParameterError>> {
                $(if name == $discipline::ALGORITHM.name {
                    return Some($discipline::new(settings, link).map(Self::$discipline));
                })*
                None
            }

            /// See [`Discipline::on_arrival`]. Where the quick disciplines decide, a call is dear.
            #[inline(always)]
            pub fn on_arrival(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
                match self {
                    $(Self::$discipline(it) => Discipline::on_arrival(it, arrival, coin),)*
                    Self::Foreign(it) => it.on_arrival(arrival, coin),
                }
            }

            /// See [`Discipline::watches_departures`].
            #[must_use]
            pub fn watches_departures(&self) -> bool {
                match self {
                    $(Self::$discipline(it) => it.watches_departures(),)*
                    Self::Foreign(it) => it.watches_departures(),
                }
            }

            /// See [`Discipline::on_departure`].
            #[inline]
            pub fn on_departure(
                &mut self,
                departure: &Departure,
                coin: &mut impl Coin,
            ) -> Verdict {
                match self {
                    $(Self::$discipline(it) => Discipline::on_departure(it, departure, coin),)*
                    Self::Foreign(it) => it.on_departure(departure, coin),
                }
            }

            /// See [`Discipline::average_queue`].
            #[inline(always)]
            #[must_use]
            pub fn average_queue(&self) -> Option<f64> {
                match self {
                    $(Self::$discipline(it) => Discipline::average_queue(it),)*
                    Self::Foreign(it) => it.average_queue(),
                }
            }

            /// See [`Discipline::drop_probability`].
            #[must_use]
            pub fn drop_probability(&self) -> Option<f64> {
                match self {
                    $(Self::$discipline(it) => Discipline::drop_probability(it),)*
                    Self::Foreign(it) => it.drop_probability(),
                }
            }

            /// See [`Discipline::is_flushed_by_change`].
            #[must_use]
            pub fn is_flushed_by_change(&self) -> bool {
                match self {
                    $(Self::$discipline(it) => it.is_flushed_by_change(),)*
                    Self::Foreign(_) => false,
                }
            }

            /// See [`Discipline::link_changed`].
            pub fn link_changed(&mut self, link: Link) {
                match self {
                    $(Self::$discipline(it) => it.link_changed(link),)*
                    Self::Foreign(it) => it.link_changed(link),
                }
            }

            /// See [`Discipline::reconfigure`].
            fn take(&mut self, settings: &Settings, link: Link) -> Result<(), ParameterError> {
                match self {
                    $(Self::$discipline(it) => it.reconfigure(settings, link),)*
                    Self::Foreign(it) => it.reconfigure(settings, link),
                }
            }

            /// The description of the discipline in force.
            #[must_use]
            pub fn algorithm(&self) -> &'static Algorithm {
                match self {
                    $(Self::$discipline(_) => &const { $discipline::ALGORITHM },)*
                    Self::Foreign(it) => it.algorithm(),
                }
            }
        }

        /// A queue of packets of type `P` under a discipline of either kind, chosen at run time.
        #[derive(Clone, Debug)]
        pub enum AnyScheduler<P> {
            /// First in, first out.
            Fifo(Fifo<P, AnyDiscipline>),
            $(#[doc = concat!("[`", stringify!($scheduler), "`]")] $scheduler($scheduler<P>),)*
        }

        impl<P: Packet> AnyScheduler<P> {
            /// Builds the queue whose discipline is called `name` from checked settings.
            fn build(
                name: &str,
                settings: &Settings,
                link: Link,
            ) -> Option<Result<Self, ParameterError>> {
                $(if name == <$scheduler<P> as Scheduler<P>>::ALGORITHM.name {
                    let built = <$scheduler<P> as Scheduler<P>>::new(settings, link);
                    return Some(built.map(Self::$scheduler));
                })*
                let built = AnyDiscipline::build(name, settings, link)?;
                Some(built.map(|discipline| Self::Fifo(Fifo::around(discipline))))
            }

            /// See [`Scheduler::enqueue`].
            #[inline(always)]
            pub fn enqueue(
                &mut self,
                now: u64,
                idle_since: Option<u64>,
                packet: P,
                coin: &mut impl Coin,
                dropped: &mut impl FnMut(Dropped<P>),
            ) -> bool {
                match self {
                    Self::Fifo(it) => it.enqueue(now, idle_since, packet, coin, dropped),
                    $(Self::$scheduler(it) => it.enqueue(now, idle_since, packet, coin, dropped),)*
                }
            }

            /// See [`Scheduler::dequeue`].
            #[inline(always)]
            pub fn dequeue(
                &mut self,
                now: u64,
                coin: &mut impl Coin,
                dropped: &mut impl FnMut(Dropped<P>),
            ) -> Option<Sent<P>> {
                match self {
                    Self::Fifo(it) => it.dequeue(now, coin, dropped),
                    $(Self::$scheduler(it) => it.dequeue(now, coin, dropped),)*
                }
            }

            /// Packets waiting.
            #[inline]
            #[must_use]
            pub fn len(&self) -> usize {
                match self {
                    Self::Fifo(it) => it.len(),
                    $(Self::$scheduler(it) => it.len(),)*
                }
            }

            /// Bytes waiting.
            #[inline]
            #[must_use]
            pub fn bytes(&self) -> u64 {
                match self {
                    Self::Fifo(it) => it.bytes(),
                    $(Self::$scheduler(it) => it.bytes(),)*
                }
            }

            /// See [`Scheduler::each`].
            pub fn each(&self, look: &mut impl FnMut(&P)) {
                match self {
                    Self::Fifo(it) => it.each(look),
                    $(Self::$scheduler(it) => it.each(look),)*
                }
            }

            /// See [`Scheduler::average_queue`].
            #[inline]
            #[must_use]
            pub fn average_queue(&self) -> Option<f64> {
                match self {
                    Self::Fifo(it) => it.advisor().average_queue(),
                    $(Self::$scheduler(it) => it.average_queue(),)*
                }
            }

            /// See [`Scheduler::drop_probability`].
            #[must_use]
            pub fn drop_probability(&self) -> Option<f64> {
                match self {
                    Self::Fifo(it) => it.advisor().drop_probability(),
                    $(Self::$scheduler(it) => it.drop_probability(),)*
                }
            }

            /// See [`Scheduler::link_changed`].
            pub fn link_changed(&mut self, link: Link) {
                match self {
                    Self::Fifo(it) => it.advisor_mut().link_changed(link),
                    $(Self::$scheduler(it) => it.link_changed(link),)*
                }
            }

            /// See [`Scheduler::reconfigure`].
            fn take(&mut self, settings: &Settings, link: Link) -> Result<(), ParameterError> {
                match self {
                    Self::Fifo(it) => it.advisor_mut().take(settings, link),
                    $(Self::$scheduler(it) => it.reconfigure(settings, link),)*
                }
            }

            /// The description of the discipline in force.
            #[must_use]
            pub fn algorithm(&self) -> &'static Algorithm {
                match self {
                    Self::Fifo(it) => it.advisor().algorithm(),
                    $(Self::$scheduler(_) => {
                        &const { <$scheduler<NoPacket> as Scheduler<NoPacket>>::ALGORITHM }
                    })*
                }
            }
        }
    };
}

registry! {
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
    Avq,
    Codel,
    Cobalt,
    Pie,
    Step,
    Wred,
    ; // Those that keep the packets themselves:
    Choke,
    DualPi2,
    FqCodel,
    FqPie,
}

impl AnyDiscipline {
    /// Builds the discipline called `name` in front of `link` from a user's values.
    ///
    /// # Errors
    /// A name that is unknown or belongs to a discipline that keeps the packets itself (field
    /// `discipline`), or a value its table refuses (the parameter's name).
    pub fn from_values(
        name: &str,
        values: &Values,
        link: Link,
    ) -> Result<(Self, Settings), ParameterError> {
        let settings = Settings::resolve(find(name)?, values)?;
        let Some(discipline) = Self::build(name, &settings, link) else {
            let accepted = "a discipline in front of a first-in, first-out queue";
            return Err(ParameterError::new("discipline", format!("\"{name}\""), accepted));
        };
        Ok((discipline?, settings))
    }

    /// Replaces the settings of a running discipline; on error nothing changes.
    ///
    /// # Errors
    /// A value the table refuses, or one that cannot change while running.
    pub fn reconfigure(&mut self, values: &Values, link: Link) -> Result<Settings, ParameterError> {
        let settings = Settings::resolve(self.algorithm(), values)?;
        self.take(&settings, link)?;
        Ok(settings)
    }
}

impl Advisor for AnyDiscipline {
    #[inline(always)]
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut impl Coin) -> Verdict {
        Self::on_arrival(self, arrival, coin)
    }

    #[inline(always)]
    fn on_departure(&mut self, departure: &Departure, coin: &mut impl Coin) -> Verdict {
        Self::on_departure(self, departure, coin)
    }

    #[inline(always)]
    fn average_queue(&self) -> Option<f64> {
        Self::average_queue(self)
    }

    fn drop_probability(&self) -> Option<f64> {
        Self::drop_probability(self)
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
        link: Link,
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
        link: Link,
    ) -> Result<(Self, Settings), ParameterError> {
        let settings = Settings::resolve(factory.algorithm(), values)?;
        let discipline = AnyDiscipline::Foreign(factory.make(&settings, link)?);
        Ok((Self::Fifo(Fifo::around(discipline)), settings))
    }

    /// Replaces the settings of a running discipline; on error nothing changes.
    ///
    /// # Errors
    /// A value the table refuses, or one that cannot change while running.
    pub fn reconfigure(&mut self, values: &Values, link: Link) -> Result<Settings, ParameterError> {
        let settings = Settings::resolve(self.algorithm(), values)?;
        self.take(&settings, link)?;
        Ok(settings)
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn find(name: &str) -> Result<&'static Algorithm, ParameterError> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name).ok_or_else(|| {
        let names: Vec<_> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
        let accepted = format!("one of {}", names.join(", "));
        ParameterError::new("discipline", format!("\"{name}\""), accepted)
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

//! Every discipline by name. A new one adds one line to the list below.

use vermilion_parameters::{Algorithm, ParameterError, Settings, Values};

use crate::{
    AdaptiveRed, Arrival, Avq, Blue, Cobalt, Codel, Coin, Departure, Discipline, DropTail, Link,
    LinuxRed, Lred, NonlinearRed, Ns2Red, PdRed, Pi, Pie, Red, Rem, SelfConfiguringRed, Step,
    Verdict, Vred,
};

macro_rules! registry {
    ($($discipline:ident),* $(,)?) => {
        /// A discipline chosen at run time: static dispatch by one predictable branch.
        #[derive(Clone, Debug)]
        pub enum AnyDiscipline {
            $(#[doc = concat!("[`", stringify!($discipline), "`]")] $discipline($discipline)),*
        }

        /// Every discipline's description, in the order in which they are listed to users.
        pub const ALGORITHMS: &[Algorithm] = &[$($discipline::ALGORITHM),*];

        impl AnyDiscipline {
            /// Builds the discipline called `name` from checked settings.
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
                match self { $(Self::$discipline(it) => it.on_arrival(arrival, coin)),* }
            }

            /// See [`Discipline::WATCHES_DEPARTURES`].
            #[must_use]
            pub fn watches_departures(&self) -> bool {
                match self { $(Self::$discipline(_) => $discipline::WATCHES_DEPARTURES),* }
            }

            /// See [`Discipline::on_departure`].
            #[inline]
            pub fn on_departure(
                &mut self,
                departure: &Departure,
                coin: &mut impl Coin,
            ) -> Verdict {
                match self { $(Self::$discipline(it) => it.on_departure(departure, coin)),* }
            }

            /// See [`Discipline::average_queue`].
            #[inline(always)]
            #[must_use]
            pub fn average_queue(&self) -> Option<f64> {
                match self { $(Self::$discipline(it) => it.average_queue()),* }
            }

            /// See [`Discipline::drop_probability`].
            #[must_use]
            pub fn drop_probability(&self) -> Option<f64> {
                match self { $(Self::$discipline(it) => it.drop_probability()),* }
            }

            /// See [`Discipline::link_changed`].
            pub fn link_changed(&mut self, link: Link) {
                match self { $(Self::$discipline(it) => it.link_changed(link)),* }
            }

            /// See [`Discipline::reconfigure`].
            fn take(&mut self, settings: &Settings, link: Link) -> Result<(), ParameterError> {
                match self { $(Self::$discipline(it) => it.reconfigure(settings, link)),* }
            }

            /// The description of the discipline in force.
            #[must_use]
            pub fn algorithm(&self) -> &'static Algorithm {
                match self { $(Self::$discipline(_) => &const { $discipline::ALGORITHM }),* }
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
}

impl AnyDiscipline {
    /// Builds the discipline called `name` in front of `link` from a user's values.
    ///
    /// # Errors
    /// An unknown name (field `discipline`) or a value its table refuses (the parameter's name).
    pub fn from_values(
        name: &str,
        values: &Values,
        link: Link,
    ) -> Result<(Self, Settings), ParameterError> {
        let Some(algorithm) = ALGORITHMS.iter().find(|algorithm| algorithm.name == name) else {
            let names: Vec<_> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
            return Err(ParameterError::new(
                "discipline",
                format!("\"{name}\""),
                format!("one of {}", names.join(", ")),
            ));
        };
        let settings = Settings::resolve(algorithm, values)?;
        let discipline =
            Self::build(name, &settings, link).expect("every listed name has its discipline");
        Ok((discipline?, settings))
    }

    /// Replaces the settings of a running discipline; on error nothing changes.
    ///
    /// # Errors
    /// A value the table refuses.
    pub fn reconfigure(&mut self, values: &Values, link: Link) -> Result<Settings, ParameterError> {
        let settings = Settings::resolve(self.algorithm(), values)?;
        self.take(&settings, link)?;
        Ok(settings)
    }
}

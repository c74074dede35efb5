//! Every law by name. A new one adds one line to the list below.

use vermilion_parameters::{Algorithm, AlgorithmSettings, ParameterError, Settings, Values};

use crate::{
    Answer, Autorate, AutorateSettings, Fixed, FixedSettings, RateLaw, ServiceCurve,
    ServiceCurveSettings, State, TunedServiceCurve, TunedServiceCurveSettings,
};

macro_rules! registry {
    ($($law:ident: $settings:ident),* $(,)?) => {
        /// Every law's description, in the order in which they are listed to users.
        pub const ALGORITHMS: &[Algorithm] = &[$($settings::ALGORITHM,)*];

        /// A law chosen at run time.
        #[derive(Clone, Debug)]
        pub enum AnyLaw {
            $(#[doc = concat!("[`", stringify!($law), "`]")] $law($law),)*
        }

        impl AnyLaw {
            /// Looks up the law called `name` and builds it from a user's `values`.
            ///
            /// # Errors
            /// An unknown name (field `law`), or a value its table refuses.
            pub fn from_values(name: &str, values: &Values) -> Result<Self, ParameterError> {
                $(if name == $settings::ALGORITHM.name {
                    let settings: $settings =
                        Settings::resolve(&$settings::ALGORITHM, values)?.read();
                    return Ok(Self::$law($law::new(settings)));
                })*
                let known = ALGORITHMS.iter().map(|algorithm| algorithm.name);
                Err(ParameterError::unknown("law", name, "one of", known))
            }

            fn law(&self) -> &dyn RateLaw {
                match self {
                    $(Self::$law(it) => it,)*
                }
            }

            fn law_mut(&mut self) -> &mut dyn RateLaw {
                match self {
                    $(Self::$law(it) => it,)*
                }
            }
        }
    };
}

registry! {
    ServiceCurve: ServiceCurveSettings,
    TunedServiceCurve: TunedServiceCurveSettings,
    Autorate: AutorateSettings,
    Fixed: FixedSettings,
}

impl RateLaw for AnyLaw {
    fn probe_sent(&mut self, sent: u64, bytes: u64) {
        self.law_mut().probe_sent(sent, bytes);
    }

    fn answered(&mut self, answer: Answer) {
        self.law_mut().answered(answer);
    }

    fn lost(&mut self, sent: u64) {
        self.law_mut().lost(sent);
    }

    fn rate(&mut self, now: u64, bytes: u64) -> f64 {
        self.law_mut().rate(now, bytes)
    }

    fn state(&self) -> State {
        self.law().state()
    }
}

//! Every rate-based end by name. A new one adds one line to the list below.

use vermilion_parameters::{Algorithm, AlgorithmSettings, ParameterError, Settings, Values};

use crate::{
    Dcqcn, DcqcnMellanoxSettings, DcqcnPaperSettings, HardwareDctcp, HardwareDctcpSettings, Hpcc,
    HpccSettings, Nic, Visit,
};

macro_rules! registry {
    ($($settings:ident => $make:expr),* $(,)?) => {
        /// Every end's description, in the order in which they are listed to users.
        pub const ALGORITHMS: &[Algorithm] = &[$($settings::ALGORITHM,)*];

        /// Looks up the end called `name`, checks a user's `values`, and has something done with it.
        ///
        /// # Errors
        /// An unknown name (field `sender`), or a value its table refuses.
        pub fn visit<V: Visit>(
            name: &str,
            values: &Values,
            nic: Nic,
            visit: V,
        ) -> Result<V::Output, ParameterError> {
            $(if name == $settings::ALGORITHM.name {
                let settings: $settings = Settings::resolve(&$settings::ALGORITHM, values)?.read();
                return Ok(visit.visit($make(settings, nic)));
            })*
            let known = ALGORITHMS.iter().map(|algorithm| algorithm.name);
            Err(ParameterError::unknown("sender", name, "one of", known))
        }
    };
}

registry! {
    DcqcnMellanoxSettings => Dcqcn::mellanox,
    DcqcnPaperSettings => Dcqcn::paper,
    HpccSettings => Hpcc::new,
    HardwareDctcpSettings => HardwareDctcp::new,
}

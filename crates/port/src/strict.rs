//! Strict priority.

use vermilion_parameters::settings;

settings! {
    /// Settings of strict priority.
    pub StrictSettings "strict": "Strict priority",
        "Sends of the first class that has packets",
        "Linux 6.12, net/sched/sch_prio.c; IEEE 802.1Q-2018, section 8.6.8.1";
}

//! Instruments: what a researcher can have written down of a run, packet by packet and window by window.
//!
//! Everything here is handed what happens and keeps it in memory until somebody takes it: nothing reads the
//! clock of the day, and nothing writes a file. Where nobody has asked, the engine does not come by here at
//! all ([`simulation`](crate::simulation)): packets take ways on which no instrument stands.

mod capture;
mod connections;
mod distributions;
mod flow_choice;
mod frame;
mod kept;
mod legend;
mod observation;
mod packets;
mod record;
mod table;
mod windows;

pub use capture::CaptureWriter;
pub use connections::{Connection, Connections};
pub use distributions::{RawDistribution, RawDistributions};
pub use flow_choice::FlowChoice;
pub use legend::{Causes, Legend};
pub use observation::{
    DistributionChoice, MOST_RECORDS, Observation, PacketChoice, TransferChoice, WindowChoice,
};
pub use packets::PacketTrace;
pub use record::{PacketEvent, PacketRecord, Place, Reason};
pub use table::packet_table;
pub use windows::{WindowRow, WindowTrace};

pub(crate) use connections::Beginning;
pub(crate) use observation::{Chosen, group_index};
pub(crate) use windows::Sight;

//! The tests of senders and receivers, in one program: each of its own would be compiled and linked once more.

mod by_hand;
mod common;

mod bbr;
mod bbr1;
mod bbr_vectors;
mod cubic;
mod fall_and_floyd;
mod hostile;
mod ledbat;
mod limited;
mod losses_by_time;
mod marks;
mod ns3_recovery;
mod packetdrill;
mod recoveries;
mod scalable;
mod segmentation;
mod square_root_law;
mod timeouts;
mod vectors;

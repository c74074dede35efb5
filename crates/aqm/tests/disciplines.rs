//! The tests of the disciplines, in one program: each of its own would have all of them compiled into it once more.

mod chi_square;
mod law;
mod parcel;
mod router;
mod seeded;
mod settings;

mod causes;
mod conformance;
mod dialects;
mod flow_limits;
mod rates;
mod spacing;
mod vectors;

//! The state machine, its pure model, and both against faults.

mod elections;
mod faults;
mod interleavings;
mod invalid;
mod lab;
mod model;
mod normal;
mod two_branches;

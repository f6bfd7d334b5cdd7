//! The state machine, its pure model, and both against faults.

mod away;
mod catch_up;
mod elections;
mod faults;
mod formats;
mod interleavings;
mod invalid;
mod lab;
mod leavers;
mod model;
mod normal;
mod twins;
mod two_branches;

//! The state machines alone: four replicas, a queue that the test controls, timers fired by hand.

mod byzantine;
mod committee_transition;
mod evidence;
mod faults;
mod invalid;
mod lab;
mod model;
mod normal;
mod random;
mod restart;

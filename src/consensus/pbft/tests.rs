//! Replicas without a simulator: a message queue and timers that the test controls.

mod attendance;
mod byzantine;
mod committee_transition;
mod evidence;
mod faults;
mod formats;
mod invalid;
mod lab;
mod leavers;
mod model;
mod model_change;
mod normal;
mod random;
mod relays;
mod restart;
mod suspicion;

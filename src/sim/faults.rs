//! What goes wrong: fault plans as data, the faults in force, and their effects on links, clocks and replicas.

pub(super) mod active;
pub(super) mod byzantine;
mod clock_skew;
mod injection;
pub(super) mod link_faults;
pub(super) mod plan;
pub(super) mod profile;

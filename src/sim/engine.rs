//! What every run is made of: the queue of events, virtual time, the seed's random streams, the run digest.

pub(super) mod clock;
pub(super) mod digest;
pub(super) mod rng;
pub(super) mod scheduler;
pub(super) mod seed_guard;

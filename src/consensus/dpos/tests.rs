//! The state machine, its pure model, and both against faults.

mod model;

//! What must hold: invariants that are checked after every step, and the oracle of acknowledged transactions.

pub mod history;
pub mod invariant;
pub(super) mod offences;
pub(super) mod oracle;
pub(super) mod violation;

//! JSON-RPC 2.0 over jsonrpsee, for the Ethereum methods and the service's methods alike.
//!
//! [`framing`] makes HTTP responses, [`message`] reads and writes the JSON in bodies, [`batch`] reads the entries of a batch, [`service`] executes
//! calls, notifications and batches, [`effect`] notes whether any of them was begun, [`aside`] is where long texts are read, [`errors`] has the
//! codes.
//! No method is defined here.

pub(crate) mod aside;
pub(crate) mod batch;
pub(crate) mod effect;
pub(crate) mod errors;
pub(crate) mod framing;
mod message;
pub(crate) mod service;

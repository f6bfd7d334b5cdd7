//! Durable chains.

#![doc = include_str!("../README.md")]

pub mod chain;
pub mod consensus;
pub mod node;
pub mod platform;
pub mod primitives;
#[cfg(feature = "server")]
pub mod server;
pub mod sim;
pub mod state;
pub mod store;
pub mod templates;
pub mod vm;

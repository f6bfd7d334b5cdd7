//! What the protocols share: their inputs and outputs, signatures, validators, encodings and records.

pub(super) mod effect;
pub(crate) mod effect_handler;
pub(super) mod encoding;
pub(super) mod event;
pub(super) mod finality;
pub(super) mod lineage;
pub(crate) mod mutation;
pub(super) mod orphans;
pub(super) mod protocol;
pub(super) mod record_class;
pub(crate) mod record_map;
pub(super) mod signing;
pub(super) mod validators;

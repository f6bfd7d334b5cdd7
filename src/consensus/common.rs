//! What the protocols share: their inputs and outputs, signatures, validators, encodings and records.

pub(super) mod branch_tree;
pub(super) mod codec;
pub(super) mod effect;
pub(crate) mod effect_handler;
pub(super) mod encoding;
pub(super) mod event;
pub(super) mod family;
pub(super) mod finality;
pub(super) mod former_members;
#[cfg_attr(not(feature = "internals"), expect(unreachable_pub, reason = "public with the feature `internals`"))]
pub(super) mod header;
pub(super) mod header_rules;
pub(super) mod id;
pub(super) mod in_force;
pub(super) mod intake;
pub(super) mod light;
pub(super) mod offence;
pub(super) mod orphans;
pub(super) mod own_message;
pub(super) mod protocol;
pub(super) mod quorum;
pub(super) mod record_class;
pub(super) mod records;
pub(super) mod round;
pub(super) mod signing;
pub(super) mod slot_clock;
pub(super) mod validators;
pub(super) mod vote;

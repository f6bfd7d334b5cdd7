//! Messages of a protocol that is not one of this crate's.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::encoding::Encoder;
use crate::primitives::Bytes;

/// A message of a [protocol of one's own](crate::consensus::OwnProtocol): opaque bytes with a label. Cloning is O(1) while the label
/// is a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnMessage {
    label: Cow<'static, str>,
    content: Bytes,
}

impl OwnMessage {
    /// Returns a message. `label` is its kind, such as `vote`: link faults, traces and pictures name it.
    pub fn new(label: &'static str, content: impl Into<Bytes>) -> Self {
        Self { label: Cow::Borrowed(label), content: content.into() }
    }

    /// Returns the kind.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the content, in the protocol's own encoding.
    pub const fn content(&self) -> &Bytes {
        &self.content
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.bytes(self.label.as_bytes());
        out.bytes(&self.content);
    }
}

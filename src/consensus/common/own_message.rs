//! Messages of a protocol that is not one of this crate's.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    codec::{DecodeError, decode_value, encode_value},
    encoding::Encoder,
};
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

    /// Returns a message whose content is the encoding of `value` in postcard's wire format, for [`OwnMessage::read`].
    ///
    /// # Panics
    /// When the `Serialize` of `T` fails: it has a list of unknown length, which derived ones have not.
    pub fn of<T: Serialize + ?Sized>(label: &'static str, value: &T) -> Self {
        Self::new(label, encode_value(value))
    }

    /// Reads the value that [`OwnMessage::of`] wrote.
    ///
    /// # Errors
    /// [`DecodeError`] for any other content.
    pub fn read<T: Serialize + DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode_value(&self.content)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_it_was_written_and_nothing_else_is() {
        let message = OwnMessage::of("vote", &(7_u64, [1_u8; 4]));
        assert_eq!((message.label(), message.content().as_ref()), ("vote", [7, 1, 1, 1, 1].as_slice()));
        assert_eq!(message.read(), Ok((7_u64, [1_u8; 4])));
        assert_eq!(message.read::<u64>(), Err(DecodeError::Trailing { count: 4 }));
    }
}

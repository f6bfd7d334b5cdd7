//! The value of an API key: what its holder sends.

use alloy_primitives::hex;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::platform::entropy::{Entropy, EntropyError};

const RANDOM_BYTES: usize = 24;
const RANDOM_DIGITS: usize = 2 * RANDOM_BYTES;
const CHECKSUM_BYTES: usize = 4;

/// The value of a new key, which is shown once. It is overwritten when it is dropped.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct ApiKeyValue(Zeroizing<String>);

impl ApiKeyValue {
    /// What every key begins with.
    pub const PREFIX: &'static str = "cbx_";

    /// Draws a key.
    pub(super) fn draw(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut random = Zeroizing::new([0; RANDOM_BYTES]);
        entropy.fill(&mut *random)?;
        let digits = Zeroizing::new(hex::encode(random.as_slice()));
        Ok(Self(Zeroizing::new(format!("{}{}{}", Self::PREFIX, *digits, checksum(&digits)))))
    }

    /// Text of the key.
    pub fn text(&self) -> &str {
        &self.0
    }

    pub(super) fn last_four(&self) -> String {
        self.0[self.0.len() - 4..].to_owned()
    }
}

/// Whether prefix, length and checksum are right, which rejects mistyped keys without a look-up.
pub(super) fn is_well_formed(value: &str) -> bool {
    value
        .strip_prefix(ApiKeyValue::PREFIX)
        .filter(|digits| digits.len() == RANDOM_DIGITS + 2 * CHECKSUM_BYTES && digits.is_ascii())
        .is_some_and(|digits| checksum(&digits[..RANDOM_DIGITS]) == digits[RANDOM_DIGITS..])
}

fn checksum(random: &str) -> String {
    hex::encode(&Sha256::digest(random.as_bytes())[..CHECKSUM_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::entropy::testing::CountingEntropy;

    #[test]
    fn a_mistyped_key_fails_its_checksum() {
        let value = ApiKeyValue::draw(&CountingEntropy::default()).unwrap();
        let text = value.text();
        assert!(is_well_formed(text) && text.ends_with(&value.last_four()));
        let flipped = if text.as_bytes()[10] == b'0' { "1" } else { "0" };
        let mistyped = format!("{}{flipped}{}", &text[..10], &text[11..]);
        assert!(!is_well_formed(&mistyped) && !is_well_formed("cbx_") && !is_well_formed(""));
    }
}

//! Ids of filters and subscriptions: unpredictable, so that no client guesses another's.

use crate::platform::{Entropy, EntropyError, OsEntropy};

/// Random bytes of an id.
const ID_BYTES: usize = 16;

/// Returns a new id in geth's form: `0x`, and 16 random bytes in hex without leading zeros.
///
/// # Errors
/// [`EntropyError`] when the operating system has no random bytes.
pub(super) fn random_id() -> Result<String, EntropyError> {
    let mut bytes = [0; ID_BYTES];
    OsEntropy.fill(&mut bytes)?;
    Ok(format!("{:#x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hex_without_leading_zeros_and_differ() {
        let ids: std::collections::BTreeSet<String> = (0..1_000).map(|_| random_id().unwrap()).collect();
        assert_eq!(ids.len(), 1_000);
        for id in ids {
            let digits = id.strip_prefix("0x").unwrap();
            assert!((1..=32).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
            assert!(!digits.starts_with('0'), "{id}");
        }
    }
}

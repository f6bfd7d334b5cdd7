//! Names of modules.

use alloy_primitives::B256;

/// Longest name of a module, in bytes.
pub const NAME_BYTES_MAX: usize = 32;

/// Returns a name as it is stored, left-aligned; `None` for one that is empty, too long, or has other than lowercase letters, digits and
/// dashes.
pub(super) fn parse(name: &str) -> Option<B256> {
    let bytes = name.as_bytes();
    let is_right = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if !(1..=NAME_BYTES_MAX).contains(&bytes.len()) || !bytes.iter().all(is_right) {
        return None;
    }
    let mut word = B256::ZERO;
    word[..bytes.len()].copy_from_slice(bytes);
    Some(word)
}

/// Returns the text of a stored name.
pub(super) fn text(word: B256) -> String {
    word.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        let longest = "a".repeat(NAME_BYTES_MAX);
        for name in ["defi", "a", "7", "-", "oracle-v2", longest.as_str()] {
            assert_eq!(parse(name).map(text).as_deref(), Some(name));
        }
        let too_long = "a".repeat(NAME_BYTES_MAX + 1);
        for name in ["", "Defi", "de fi", "de_fi", "d\u{e9}fi", "defi\0", too_long.as_str()] {
            assert_eq!(parse(name), None, "{name:?}");
        }
    }
}

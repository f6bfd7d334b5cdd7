//! Tokens that the service draws and gives out once: a prefix, random hex digits, and a checksum as in API keys. Only a keyed hash of a
//! token is kept, so that nobody who reads the store can use one.

use alloy_primitives::hex;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::entropy::{Entropy, EntropyError};

/// Random bytes of a token's secret part: 192 bits, more than the 160 that RFC 6749, 10.10 asks for.
const SECRET_BYTES: usize = 24;
const SECRET_DIGITS: usize = 2 * SECRET_BYTES;
/// Random bytes by which the tokens of a family are found.
const FAMILY_BYTES: usize = 16;
const FAMILY_DIGITS: usize = 2 * FAMILY_BYTES;
const CHECKSUM_BYTES: usize = 4;
const CHECKSUM_DIGITS: usize = 2 * CHECKSUM_BYTES;

/// What a token is for. The prefix is part of what is hashed: a token of one kind is never taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An access token (RFC 6749, 1.4).
    Access,
    /// A refresh token (RFC 6749, 1.5); each has the digits of its family before its own.
    Refresh,
    /// An authorization code (RFC 6749, 1.3.1).
    Code,
    /// The secret of a confidential client.
    ClientSecret,
    /// A browser's session.
    Session,
    /// The token in a mail.
    Mail,
    /// The token with which the first user signs up.
    Bootstrap,
}

impl TokenKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Access => "cbt_",
            Self::Refresh => "cbr_",
            Self::Code => "cbc_",
            Self::ClientSecret => "cbs_",
            Self::Session => "cbw_",
            Self::Mail => "cbm_",
            Self::Bootstrap => "cbb_",
        }
    }

    const fn family_digits(self) -> usize {
        match self {
            Self::Refresh => FAMILY_DIGITS,
            _ => 0,
        }
    }

    /// Returns whether prefix, length and checksum are right, which rejects a mistyped token without a look-up.
    pub(super) fn is_well_formed(self, text: &str) -> bool {
        let random_digits = self.family_digits() + SECRET_DIGITS;
        text.strip_prefix(self.prefix())
            .filter(|digits| digits.len() == random_digits + CHECKSUM_DIGITS && digits.is_ascii())
            .is_some_and(|digits| checksum(&digits[..random_digits]) == digits[random_digits..])
    }
}

/// The text of a new token, which is given out once. It is overwritten when it is dropped.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct Token(Zeroizing<String>);

impl Token {
    /// Draws a token; one of a kind with families begins a new family.
    pub(super) fn draw(entropy: &dyn Entropy, kind: TokenKind) -> Result<Self, EntropyError> {
        let mut family = [0; FAMILY_BYTES];
        let family = if kind.family_digits() == 0 {
            String::new()
        } else {
            entropy.fill(&mut family)?;
            hex::encode(family)
        };
        Self::draw_after(entropy, kind, &family)
    }

    /// Draws the next token of a family.
    pub(super) fn draw_next(entropy: &dyn Entropy, family: &str) -> Result<Self, EntropyError> {
        Self::draw_after(entropy, TokenKind::Refresh, family)
    }

    fn draw_after(entropy: &dyn Entropy, kind: TokenKind, family: &str) -> Result<Self, EntropyError> {
        let mut random = Zeroizing::new([0; SECRET_BYTES]);
        entropy.fill(&mut *random)?;
        let secret = Zeroizing::new(hex::encode(random.as_slice()));
        let digits = Zeroizing::new(format!("{family}{}", *secret));
        Ok(Self(Zeroizing::new(format!("{}{}{}", kind.prefix(), *digits, checksum(&digits)))))
    }

    /// Text of the token.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Returns the digits of a refresh token's family; `None` for a text that is no refresh token.
pub(super) fn family_of(text: &str) -> Option<&str> {
    let prefix = TokenKind::Refresh.prefix().len();
    TokenKind::Refresh.is_well_formed(text).then(|| &text[prefix..prefix + FAMILY_DIGITS])
}

fn checksum(random: &str) -> String {
    hex::encode(&Sha256::digest(random.as_bytes())[..CHECKSUM_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::entropy::testing::CountingEntropy;

    #[test]
    fn a_mistyped_token_fails_its_checksum() {
        let token = Token::draw(&CountingEntropy::default(), TokenKind::Access).unwrap();
        let text = token.text();
        assert!(TokenKind::Access.is_well_formed(text) && text.len() == 4 + 48 + 8);
        assert!(!TokenKind::Code.is_well_formed(text), "it is of another kind");
        for place in 4..text.len() {
            let flipped = if text.as_bytes()[place] == b'7' { "8" } else { "7" };
            let mistyped = format!("{}{flipped}{}", &text[..place], &text[place + 1..]);
            assert!(!TokenKind::Access.is_well_formed(&mistyped), "{mistyped}");
        }
        for other in ["", "cbt_", "cbt_é", &text[1..], &format!("{text}0")] {
            assert!(!TokenKind::Access.is_well_formed(other), "{other}");
        }
    }

    #[test]
    fn the_tokens_of_a_family_share_its_digits_alone() {
        let entropy = CountingEntropy::default();
        let first = Token::draw(&entropy, TokenKind::Refresh).unwrap();
        let family = family_of(first.text()).unwrap();
        let next = Token::draw_next(&entropy, family).unwrap();
        assert_eq!(family_of(next.text()), Some(family));
        assert_ne!(next.text(), first.text());
        assert_eq!(family_of(Token::draw(&entropy, TokenKind::Access).unwrap().text()), None);
    }
}

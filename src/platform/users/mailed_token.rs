//! Tokens that are mailed to an address: who shows one reads the mail of that address.
//!
//! The record keeps a keyed hash. The token itself is sealed in the vault until its mail is sent, so that the mail can be made again after a
//! failed delivery.

use core::fmt;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::password::PasswordHash;
use crate::platform::{
    PlatformError,
    context::Context,
    expiry::expired,
    records::{Index, Owner, PageRequest, Reach, Record, RecordError, SortKey, Stored, Unit},
    token::{Token, TokenKind},
    vault::Purpose,
};

/// What a mailed token is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::platform) enum MailedAct {
    /// To become a user with this password.
    Confirm(PasswordHash),
    /// To choose another password.
    Reset,
}

impl MailedAct {
    /// Time for which the token is valid, in milliseconds.
    const fn life_ms(&self) -> u64 {
        match self {
            Self::Confirm(_) => 24 * 60 * 60 * 1000,
            Self::Reset => 60 * 60 * 1000,
        }
    }

    /// Topic of the mail in the outbox.
    const fn topic(&self) -> &'static str {
        match self {
            Self::Confirm(_) => MailedToken::CONFIRMATION_MAIL,
            Self::Reset => MailedToken::RESET_MAIL,
        }
    }
}

/// A token that was mailed, or waits to be.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::platform) struct MailedToken {
    /// Address of e-mail, in lower case. It may be anybody's.
    pub(in crate::platform) email: String,
    pub(in crate::platform) act: MailedAct,
    hash: [u8; 32],
    /// Time from which it is not valid, in milliseconds since the Unix epoch.
    pub(in crate::platform) expires_at_ms: u64,
}

impl MailedToken {
    pub(in crate::platform) const CONFIRMATION_MAIL: &'static str = "mail.confirmation";
    pub(in crate::platform) const RESET_MAIL: &'static str = "mail.reset";

    const BY_HASH: Index<Self> =
        Index::unique("hash", Reach::Service, |token| Some(SortKey::new().bytes(&token.value.hash)));
    const BY_EMAIL: Index<Self> = Index::ordered(
        "email",
        Reach::Service,
        |token| Some(SortKey::new().text(&token.value.email)),
        |token| SortKey::new().number(token.created_at_ms()),
    );
    const BY_EXPIRY: Index<Self> = Index::ordered(
        "expiry",
        Reach::Service,
        |_| Some(SortKey::new()),
        |token| SortKey::new().number(token.value.expires_at_ms),
    );
}

impl Record for MailedToken {
    const KIND: &'static str = "mailed-token";
    const INDICES: &'static [Index<Self>] = &[Self::BY_HASH, Self::BY_EMAIL, Self::BY_EXPIRY];
}

/// Leaves the hashes out.
impl fmt::Debug for MailedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailedToken").field("email", &self.email).finish_non_exhaustive()
    }
}

/// Keeps a new token and puts its mail into the outbox.
pub(super) fn send(context: &Context, unit: &mut Unit<'_>, email: &str, act: MailedAct) -> Result<(), PlatformError> {
    let (token, id) = (Token::draw(&*context.entropy, TokenKind::Mail)?, context.id("mtk")?);
    let (topic, expires_at_ms) = (act.topic(), unit.now_ms().saturating_add(act.life_ms()));
    let hash = context.secret.hash(token.text().as_bytes());
    unit.insert(&Owner::Service, &id, MailedToken { email: email.to_owned(), act, hash, expires_at_ms })?;
    context.vault.seal(unit, &Owner::Service, &id, Purpose::MailedToken, token.text().as_bytes())?;
    unit.publish(&Owner::Service, topic, id.into_bytes())?;
    Ok(())
}

/// Returns the record of a token that is valid now.
pub(super) fn find(
    context: &Context,
    unit: &Unit<'_>,
    text: &str,
) -> Result<Option<Stored<MailedToken>>, PlatformError> {
    if !TokenKind::Mail.is_well_formed(text) {
        return Ok(None);
    }
    let hash = context.secret.hash(text.as_bytes());
    let group = SortKey::new().bytes(&hash);
    let found = unit.of::<MailedToken>().find(&MailedToken::BY_HASH, &Owner::Service, &group)?;
    let now_ms = unit.now_ms();
    Ok(found.filter(|found| bool::from(found.value.hash.ct_eq(&hash)) && now_ms < found.value.expires_at_ms))
}

/// Deletes a token with what the vault has of it.
fn delete(context: &Context, unit: &mut Unit<'_>, token: &Stored<MailedToken>) -> Result<(), PlatformError> {
    context.vault.discard(unit, token.owner(), token.id())?;
    Ok(unit.delete(token)?)
}

/// Deletes all tokens for an address: those of mails in a window are few.
pub(super) fn delete_for(context: &Context, unit: &mut Unit<'_>, email: &str) -> Result<(), PlatformError> {
    let (mut tokens, group) = (Vec::new(), SortKey::new().text(email));
    unit.of::<MailedToken>().for_each(&MailedToken::BY_EMAIL, &Owner::Service, &group, |token| {
        tokens.push(token);
        Ok::<_, RecordError>(())
    })?;
    tokens.iter().try_for_each(|token| delete(context, unit, token))
}

/// Deletes tokens that have expired; returns how many.
pub(super) fn forget_expired(
    context: &Context,
    unit: &mut Unit<'_>,
    request: &PageRequest,
) -> Result<usize, PlatformError> {
    let expired = expired(unit, &MailedToken::BY_EXPIRY, request, |token| token.expires_at_ms)?;
    expired.iter().try_for_each(|token| delete(context, unit, token))?;
    Ok(expired.len())
}

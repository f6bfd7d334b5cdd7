//! Sessions of browsers, and the tokens that tie a form to one.

use core::fmt;

use alloy_primitives::hex;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::Users;
use crate::platform::{
    PlatformError,
    expiry::expired,
    records::{Index, Owner, PageRequest, Reach, Record, RecordError, SortKey, Stored, Unit},
    token::{Token, TokenKind},
    workspace::User,
};

/// Time without use after which a session ends, in milliseconds (OWASP ASVS 5.0, 7.3.1).
const IDLE_MS: u64 = 8 * 60 * 60 * 1000;
/// Longest life of a session, in milliseconds (OWASP ASVS 5.0, 7.3.2).
const LIFE_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// Time between two notes that a session is in use, in milliseconds, so that not every page writes.
const NOTED_EVERY_MS: u64 = 5 * 60 * 1000;
/// Sessions of a user; the oldest ends when there is one more.
const SESSIONS_MAX: usize = 20;

/// A session of a browser. The browser has its token; only a keyed hash of it is kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Id of the user.
    pub user: String,
    hash: [u8; 32],
    /// Time from which it is not valid unless it is used before, in milliseconds since the Unix epoch.
    pub expires_at_ms: u64,
}

impl Session {
    const BY_HASH: Index<Self> =
        Index::unique("hash", Reach::Service, |session| Some(SortKey::new().bytes(&session.value.hash)));
    const BY_USER: Index<Self> = Index::ordered(
        "user",
        Reach::Service,
        |session| Some(SortKey::new().text(&session.value.user)),
        |session| SortKey::new().number(session.created_at_ms()),
    );
    const BY_EXPIRY: Index<Self> = Index::ordered(
        "expiry",
        Reach::Service,
        |_| Some(SortKey::new()),
        |session| SortKey::new().number(session.value.expires_at_ms),
    );
}

impl Record for Session {
    const KIND: &'static str = "session";
    const INDICES: &'static [Index<Self>] = &[Self::BY_HASH, Self::BY_USER, Self::BY_EXPIRY];
}

/// Leaves the hash out.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Users<'_> {
    /// Starts a session of a user who has just logged in. It always has a new token: one that was there before the log-in is not carried on.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for a user that is gone, [`PlatformError::Entropy`].
    pub fn start_session(&self, user: &str) -> Result<Token, PlatformError> {
        let context = self.context;
        let (token, id) = (Token::draw(&*context.entropy, TokenKind::Session)?, context.id("ses")?);
        let hash = context.secret.hash(token.text().as_bytes());
        context.records.unit(|unit| {
            unit.of::<User>().require(&Owner::Service, user)?;
            let mut sessions = of_user(unit, user)?;
            while sessions.len() >= SESSIONS_MAX {
                unit.delete(&sessions.remove(0))?;
            }
            let expires_at_ms = unit.now_ms().saturating_add(IDLE_MS);
            unit.insert(&Owner::Service, &id, Session { user: user.to_owned(), hash, expires_at_ms })?;
            self.audit(unit, user, "user.log-in")
        })?;
        Ok(token)
    }

    /// Returns the session with a token, and notes that it is in use; `None` for one that is unknown, ended or expired.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn session(&self, token: &str) -> Result<Option<Stored<Session>>, PlatformError> {
        let context = self.context;
        if !TokenKind::Session.is_well_formed(token) {
            return Ok(None);
        }
        let hash = context.secret.hash(token.as_bytes());
        let group = SortKey::new().bytes(&hash);
        let found = context.records.of::<Session>().find(&Session::BY_HASH, &Owner::Service, &group)?;
        let now_ms = context.records.clock().now_ms();
        let found = found.filter(|found| bool::from(found.value.hash.ct_eq(&hash)));
        let Some(session) = found.filter(|found| now_ms < found.value.expires_at_ms) else { return Ok(None) };
        let end = session.created_at_ms().saturating_add(LIFE_MS).min(now_ms.saturating_add(IDLE_MS));
        if end.saturating_sub(session.value.expires_at_ms) < NOTED_EVERY_MS {
            return Ok(Some(session));
        }
        context.records.unit(|unit| {
            let Some(mut session) = unit.of::<Session>().get(&Owner::Service, session.id())? else { return Ok(None) };
            session.value.expires_at_ms = end;
            Ok(Some(unit.replace(&session)?))
        })
    }

    /// Ends the session with a token. One that has ended is no error.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn end_session(&self, token: &str) -> Result<(), PlatformError> {
        let group = SortKey::new().bytes(&self.context.secret.hash(token.as_bytes()));
        self.context.records.unit(|unit| {
            let Some(session) = unit.of::<Session>().find(&Session::BY_HASH, &Owner::Service, &group)? else {
                return Ok(());
            };
            unit.delete(&session)?;
            self.audit(unit, &session.value.user, "user.log-out")
        })
    }

    /// Draws the token of a browser without a session, to which its forms are tied.
    ///
    /// # Errors
    /// [`PlatformError::Entropy`].
    pub fn draw_browser_token(&self) -> Result<Token, PlatformError> {
        Ok(Token::draw(&*self.context.entropy, TokenKind::Session)?)
    }

    /// Returns the text that ties a form to a browser: it follows from the token in the browser's cookie, and nobody who does not have both
    /// the cookie and the service's secret can make it (OWASP Cross-Site Request Forgery Prevention, "signed double-submit cookie").
    pub fn form_token(&self, browser_token: &str) -> String {
        hex::encode(self.context.secret.hash(format!("form\0{browser_token}").as_bytes()))
    }

    /// Returns whether a form came from a page that this browser was given.
    pub fn is_form_token(&self, browser_token: &str, presented: &str) -> bool {
        self.form_token(browser_token).as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

/// Sessions of a user, the oldest first; at most [`SESSIONS_MAX`].
fn of_user(unit: &Unit<'_>, user: &str) -> Result<Vec<Stored<Session>>, RecordError> {
    let mut sessions = Vec::new();
    unit.of::<Session>().for_each(&Session::BY_USER, &Owner::Service, &SortKey::new().text(user), |session| {
        sessions.push(session);
        Ok::<_, RecordError>(())
    })?;
    Ok(sessions)
}

/// Ends all sessions of a user but `kept`.
pub(super) fn end_all(unit: &mut Unit<'_>, user: &str, kept: Option<&str>) -> Result<(), RecordError> {
    let sessions = of_user(unit, user)?;
    sessions.iter().filter(|session| Some(session.id()) != kept).try_for_each(|session| unit.delete(session))
}

/// Deletes sessions that have expired; returns how many.
pub(super) fn forget_expired(unit: &mut Unit<'_>, request: &PageRequest) -> Result<usize, RecordError> {
    let expired = expired(unit, &Session::BY_EXPIRY, request, |session| session.expires_at_ms)?;
    expired.iter().try_for_each(|session| unit.delete(session))?;
    Ok(expired.len())
}

//! The first user: a token that the process shows on its console makes the administrator.

use core::fmt;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::{
    Users,
    password::{Password, PasswordHash},
};
use crate::platform::{
    PlatformError, default_workspace,
    records::{Owner, Record, Stored, Unit},
    scope::Role,
    token::{Token, TokenKind},
    workspace::{Member, User, normalised_email},
};

/// The token with which the first user signs up; there is at most one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::platform) struct Bootstrap {
    hash: [u8; 32],
}

const ID: &str = "bootstrap";

impl Record for Bootstrap {
    const KIND: &'static str = "bootstrap";
}

/// Leaves the hash out.
impl fmt::Debug for Bootstrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bootstrap").finish_non_exhaustive()
    }
}

impl Users<'_> {
    /// Returns a new token for the first user, in place of one that was returned before; `None` when there is a user.
    ///
    /// # Errors
    /// [`PlatformError::Entropy`], [`PlatformError::Internal`] when the store fails.
    pub fn bootstrap_token(&self) -> Result<Option<Token>, PlatformError> {
        let token = Token::draw(&*self.context.entropy, TokenKind::Bootstrap)?;
        let bootstrap = Bootstrap { hash: self.context.secret.hash(token.text().as_bytes()) };
        self.context.records.unit(|unit| {
            if !self.is_empty()? {
                return Ok(None);
            }
            match unit.of::<Bootstrap>().get(&Owner::Service, ID)? {
                Some(mut kept) => {
                    kept.value = bootstrap;
                    unit.replace(&kept)?
                }
                None => unit.insert(&Owner::Service, ID, bootstrap)?,
            };
            Ok(Some(token))
        })
    }

    /// Makes the first user by the token that the console shows: an owner of the default workspace, whose address needs no confirmation.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for another token or when there is a user; [`PlatformError::Validation`] for an address or a password.
    pub fn sign_up_first(&self, token: &str, email: &str, password: &Password) -> Result<Stored<User>, PlatformError> {
        let context = self.context;
        let email = normalised_email(email)?;
        password.check(&email)?;
        // A guessed token is not worth a hash.
        context.records.unit(|unit| self.find_bootstrap(unit, token))?;
        let hash = PasswordHash::of(&*context.entropy, context.password_cost, password)?;
        let id = context.id("usr")?;
        context.records.unit(|unit| {
            let bootstrap = self.find_bootstrap(unit, token)?;
            unit.delete(&bootstrap)?;
            let home = default_workspace();
            unit.insert(&Owner::from(&home), &id, Member { role: Role::Owner })?;
            let user = User { password: Some(hash), home: Some(home), ..User::new(&email)? };
            let user = unit.insert(&Owner::Service, &id, user)?;
            self.audit(unit, &id, "user.bootstrap")?;
            Ok(user)
        })
    }

    fn find_bootstrap(&self, unit: &Unit<'_>, token: &str) -> Result<Stored<Bootstrap>, PlatformError> {
        let hash = self.context.secret.hash(token.as_bytes());
        let is_first = self.is_empty()?;
        let found = unit.of::<Bootstrap>().get(&Owner::Service, ID)?;
        found
            .filter(|found| is_first && bool::from(found.value.hash.ct_eq(&hash)))
            .ok_or_else(|| PlatformError::not_found("bootstrap", "with this token"))
    }
}

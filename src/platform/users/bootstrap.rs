//! The administrator: while the default workspace has no owner, a token that the process shows on its console makes one. Who signs up
//! meanwhile takes nothing from it.

use core::fmt;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::{
    Users,
    password::{Password, PasswordHash},
};
use crate::platform::{
    PlatformError, default_workspace,
    records::{Collection, Owner, Record, RecordError, Stored, Unit},
    scope::Role,
    token::{Token, TokenKind},
    workspace::{Member, User, Workspace, normalised_email, owners_of},
};

/// The token with which the administrator signs up; there is at most one.
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
    /// Returns whether somebody administers the service: the default workspace has an owner.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn has_administrator(&self) -> Result<bool, PlatformError> {
        Ok(has_administrator(&self.context.records.of())?)
    }

    /// Returns a new token for the administrator, in place of one that was returned before; `None` when there is one.
    ///
    /// # Errors
    /// [`PlatformError::Entropy`], [`PlatformError::Internal`] when the store fails.
    pub fn bootstrap_token(&self) -> Result<Option<Token>, PlatformError> {
        let token = Token::draw(&*self.context.entropy, TokenKind::Bootstrap)?;
        let bootstrap = Bootstrap { hash: self.context.secret.hash(token.text().as_bytes()) };
        self.context.records.unit(|unit| {
            if has_administrator(&unit.of())? {
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

    /// Makes the administrator by the token that the console shows: an owner of the default workspace. It is a new user, whose address needs
    /// no confirmation, or the one that the address has, by its password.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for another token or when there is an administrator; [`PlatformError::Validation`] for an address, for a
    /// password that may not be chosen, and for one that is not the user's; [`PlatformError::TooManyAttempts`].
    pub fn sign_up_first(&self, token: &str, email: &str, password: &Password) -> Result<Stored<User>, PlatformError> {
        let email = normalised_email(email)?;
        // A guessed token is not worth a hash.
        let known = self.context.records.unit(|unit| {
            self.find_bootstrap(unit, token)?;
            self.by_email(unit, &email)
        })?;
        match known {
            Some(_) => self.appoint(token, &email, password),
            None => self.insert_administrator(token, &email, password),
        }
    }

    fn insert_administrator(
        &self,
        token: &str,
        email: &str,
        password: &Password,
    ) -> Result<Stored<User>, PlatformError> {
        let context = self.context;
        password.check(email)?;
        let hash = PasswordHash::of(&*context.entropy, context.password_cost, password)?;
        let id = context.id("usr")?;
        context.records.unit(|unit| {
            let user = User { password: Some(hash), home: Some(default_workspace()), ..User::new(email)? };
            let user = unit.insert(&Owner::Service, &id, user)?;
            self.make_administrator(unit, token, &id)?;
            Ok(user)
        })
    }

    /// Makes a user who is there already the administrator, by the user's password.
    fn appoint(&self, token: &str, email: &str, password: &Password) -> Result<Stored<User>, PlatformError> {
        let user = self.log_in(email, password).map_err(|cause| match cause {
            PlatformError::WrongCredentials => {
                let expected =
                    "the password of the account that this address has already; a forgotten one is reset by mail";
                PlatformError::field("password", expected, "another")
            }
            other => other,
        })?;
        self.context.records.unit(|unit| self.make_administrator(unit, token, user.id()))?;
        Ok(user)
    }

    /// Uses the token up for a user.
    fn make_administrator(&self, unit: &mut Unit<'_>, token: &str, user: &str) -> Result<(), PlatformError> {
        let bootstrap = self.find_bootstrap(unit, token)?;
        unit.delete(&bootstrap)?;
        let owner = Owner::from(&default_workspace());
        match unit.of::<Member>().get(&owner, user)? {
            Some(mut member) => {
                member.value.role = Role::Owner;
                unit.replace(&member)?
            }
            None => {
                let workspace = unit.of::<Workspace>().require(&owner, owner.as_str())?;
                unit.insert(&owner, user, Member::of(&workspace, Role::Owner))?
            }
        };
        self.audit(unit, user, "user.bootstrap")
    }

    fn find_bootstrap(&self, unit: &Unit<'_>, token: &str) -> Result<Stored<Bootstrap>, PlatformError> {
        let hash = self.context.secret.hash(token.as_bytes());
        let is_over = has_administrator(&unit.of())?;
        let found = unit.of::<Bootstrap>().get(&Owner::Service, ID)?;
        found
            .filter(|found| !is_over && bool::from(found.value.hash.ct_eq(&hash)))
            .ok_or_else(|| PlatformError::not_found("bootstrap", "with this token"))
    }
}

fn has_administrator(members: &Collection<'_, Member>) -> Result<bool, RecordError> {
    Ok(owners_of(members, &Owner::from(&default_workspace()))? > 0)
}

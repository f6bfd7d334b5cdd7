//! Sign-up by e-mail, and the confirmation of the address.
//!
//! Several may sign up with one address before it is confirmed, each with a token and a password of its own. The token becomes a user only
//! together with its password: who signs up in another's name and waits for the other to follow the link gains nothing (Sudhodanan and
//! Paverd, "Pre-hijacked accounts", 2022, "unexpired session" and "trojan identifier").

use super::{
    Users,
    mailed_token::{self, MailedAct},
    password::{Password, PasswordHash},
};
use crate::platform::{
    PlatformError,
    attempts::{self, Bounded},
    records::Stored,
    workspace::{User, normalised_email},
};

impl Users<'_> {
    /// Takes a sign-up, and puts a mail with a token into the outbox. An address that has a user is answered alike; the mail then says so.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] for an address that is none or a password that may not be chosen; [`PlatformError::TooManyAttempts`]
    /// when the address was sent too many mails.
    pub fn sign_up(&self, email: &str, password: &Password) -> Result<(), PlatformError> {
        let context = self.context;
        let email = normalised_email(email)?;
        password.check(&email)?;
        let hash = PasswordHash::of(&*context.entropy, context.password_cost, password)?;
        context.records.unit(|unit| {
            attempts::count(context, unit, Bounded::Mail, &email)?;
            mailed_token::send(context, unit, &email, MailedAct::Confirm(hash))
        })
    }

    /// Makes the user of a sign-up, with a workspace of its own, when token and password are those of the sign-up.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for a token that was never sent, was used or has expired; [`PlatformError::WrongCredentials`] for
    /// another password; [`PlatformError::TooManyAttempts`]; [`PlatformError::Conflict`] when the address has a user already.
    pub fn confirm(&self, token: &str, password: &Password) -> Result<Stored<User>, PlatformError> {
        let context = self.context;
        let unknown = || PlatformError::not_found("confirmation", "with this token");
        let (signed_up, hash) = context.records.unit(|unit| {
            let found = mailed_token::find(context, unit, token)?.ok_or_else(unknown)?;
            let MailedAct::Confirm(hash) = found.value.act.clone() else { return Err(unknown()) };
            attempts::count(context, unit, Bounded::LogIn, found.id())?;
            Ok((found, hash))
        })?;
        if !hash.matches(password)? {
            return Err(PlatformError::WrongCredentials);
        }
        context.records.unit(|unit| {
            let email = &signed_up.value.email;
            mailed_token::find(context, unit, token)?.ok_or_else(unknown)?;
            if self.by_email(unit, email)?.is_some() {
                let message = "there is an account with this address of e-mail: log in".to_owned();
                return Err(PlatformError::Conflict { message });
            }
            let user = self.insert(unit, email, Some(hash))?;
            mailed_token::delete_for(context, unit, email)?;
            attempts::forget(context, unit, Bounded::LogIn, signed_up.id())?;
            self.audit(unit, user.id(), "user.confirm")?;
            Ok(user)
        })
    }
}

//! Reset of a forgotten password.

use super::{
    Users,
    mailed_token::{self, MailedAct},
    password::{Password, PasswordHash},
    session,
};
use crate::platform::{
    PlatformError,
    attempts::{self, Bounded},
    oauth,
    records::{Stored, Unit},
    workspace::{User, normalised_email},
};

impl Users<'_> {
    /// Puts a mail into the outbox with which the password of an address can be reset. For an address without a user the same is written
    /// and no mail is sent.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] for an address that is none; [`PlatformError::TooManyAttempts`].
    pub fn request_reset(&self, email: &str) -> Result<(), PlatformError> {
        let (context, email) = (self.context, normalised_email(email)?);
        context.records.unit(|unit| {
            attempts::count(context, unit, Bounded::Mail, &email)?;
            mailed_token::send(context, unit, &email, MailedAct::Reset)
        })
    }

    /// Sets another password by the token of a mail. Whoever knew the old one is out: all sessions, access tokens and refresh tokens of the
    /// user end, the API keys that access tokens have made, and every other mailed token. Other API keys are not the user's alone and stay.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for a token that was never sent, was used or has expired, [`PlatformError::Validation`] for a password that
    /// may not be chosen.
    pub fn reset(&self, token: &str, password: &Password) -> Result<Stored<User>, PlatformError> {
        let context = self.context;
        // A guessed token is not worth a hash.
        let user = context.records.unit(|unit| self.user_of_reset(unit, token))?;
        password.check(&user.value.email)?;
        let hash = PasswordHash::of(&*context.entropy, context.password_cost, password)?;
        context.records.unit(|unit| {
            let mut user = self.user_of_reset(unit, token)?;
            user.value.password = Some(hash);
            let user = unit.replace(&user)?;
            session::end_all(unit, user.id(), None)?;
            oauth::end_all_of_user(unit, user.id())?;
            mailed_token::delete_for(context, unit, &user.value.email)?;
            attempts::forget(context, unit, Bounded::LogIn, &user.value.email)?;
            self.audit(unit, user.id(), "user.reset-password")?;
            Ok(user)
        })
    }

    fn user_of_reset(&self, unit: &Unit<'_>, token: &str) -> Result<Stored<User>, PlatformError> {
        let unknown = || PlatformError::not_found("reset", "with this token");
        let found = mailed_token::find(self.context, unit, token)?;
        let found = found.filter(|found| found.value.act == MailedAct::Reset).ok_or_else(unknown)?;
        self.by_email(unit, &found.value.email)?.ok_or_else(unknown)
    }
}

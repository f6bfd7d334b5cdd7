//! Log-in with a password, and its change.
//!
//! Ten attempts for an address in a quarter of an hour, whether it has a user or not. An attempt is counted before its password is hashed,
//! so that attempts side by side are no way around the bound. An unknown address costs a hash too. Who tries many addresses of e-mail from one
//! of the network has a hundred attempts in that time; those that succeed count too, so that an account of one's own starts no new count.

use super::{
    Users, mailed_token,
    password::{Password, PasswordHash},
    session::{self, Session},
};
use crate::platform::{
    PlatformError,
    attempts::{self, Bounded},
    oauth,
    records::{Owner, SortKey, Stored},
    workspace::{User, normalised_email},
};

impl Users<'_> {
    /// Returns the user with an address and a password.
    ///
    /// # Errors
    /// [`PlatformError::WrongCredentials`] for an unknown address and a wrong password alike, [`PlatformError::TooManyAttempts`].
    pub fn log_in(&self, email: &str, password: &Password) -> Result<Stored<User>, PlatformError> {
        let context = self.context;
        let wrong = || PlatformError::WrongCredentials;
        let email = normalised_email(email).map_err(|_| wrong())?;
        context.records.unit(|unit| {
            if let Some(client) = self.client {
                attempts::count(context, unit, Bounded::LogInFrom, &attempts::network_of(client))?;
            }
            attempts::count(context, unit, Bounded::LogIn, &email)
        })?;
        let group = SortKey::new().text(&email);
        let user = context.records.of::<User>().find(&User::BY_EMAIL, &Owner::Service, &group)?;
        let kept = user.as_ref().and_then(|user| user.value.password.clone());
        let is_right = kept.unwrap_or_else(|| PasswordHash::of_nobody(context.password_cost)).matches(password)?;
        let user = user.filter(|user| is_right && user.value.has_password()).ok_or_else(wrong)?;
        context.records.unit(|unit| {
            // The password may have been changed while the old one was hashed.
            let present = unit.of::<User>().get(&Owner::Service, user.id())?;
            let present = present.filter(|present| present.value.password == user.value.password).ok_or_else(wrong)?;
            attempts::forget(context, unit, Bounded::LogIn, &email)?;
            Ok(present)
        })
    }

    /// Changes the password of a user who knows the old one. Whoever else has come by the old one is out: the other sessions end, all access
    /// tokens and refresh tokens, the API keys that access tokens have made, and mailed tokens. Other API keys are not the user's alone and
    /// stay.
    ///
    /// # Errors
    /// [`PlatformError::WrongCredentials`], [`PlatformError::TooManyAttempts`], [`PlatformError::Validation`] for a password that may not be
    /// chosen.
    pub fn change_password(
        &self,
        session: &Stored<Session>,
        old: &Password,
        new: &Password,
    ) -> Result<Stored<User>, PlatformError> {
        let context = self.context;
        let email = self.get(&session.value.user)?.value.email;
        new.check(&email)?;
        let known = self.log_in(&email, old)?;
        let hash = PasswordHash::of(&*context.entropy, context.password_cost, new)?;
        context.records.unit(|unit| {
            let mut changed = known.clone();
            changed.value.password = Some(hash);
            let user = unit.replace(&changed)?;
            session::end_all(unit, user.id(), Some(session.id()))?;
            oauth::end_all_of_user(unit, user.id())?;
            mailed_token::delete_for(context, unit, &user.value.email)?;
            self.audit(unit, user.id(), "user.change-password")?;
            Ok(user)
        })
    }
}

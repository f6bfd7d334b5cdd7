//! Failures of the pages.

use crate::{
    platform::{OAuthError, PlatformError, ShownRefusal},
    server::openid::OpenIdError,
};

/// Why a page can't be shown, or a form is not taken.
#[derive(Debug)]
pub(super) enum Failure {
    /// The form did not come from a page that this browser was given.
    ForeignForm,
    /// The body is no form.
    Unreadable(OAuthError),
    /// Nobody is logged in.
    NoSession,
    /// An authorization request that may not redirect.
    Refused(ShownRefusal),
    /// A link that is unknown, used or expired.
    DeadLink,
    /// There is no such page.
    NoPage,
    /// An outside provider did not say who has logged in.
    Provider {
        /// Name of the provider.
        name: String,
        /// What went wrong.
        cause: OpenIdError,
    },
    /// The platform refused or failed.
    Platform(PlatformError),
}

impl From<PlatformError> for Failure {
    fn from(cause: PlatformError) -> Self {
        match cause {
            PlatformError::NotFound { kind: "confirmation" | "reset" | "invitation", .. } => Self::DeadLink,
            other => Self::Platform(other),
        }
    }
}

impl From<OAuthError> for Failure {
    fn from(cause: OAuthError) -> Self {
        Self::Unreadable(cause)
    }
}

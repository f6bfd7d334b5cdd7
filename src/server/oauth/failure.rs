//! Failures of the pages, and the pages that show them.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::html;

use super::page::{self, Page};
use crate::{
    platform::{OAuthError, PlatformError, ShownRefusal},
    server::openid::OpenIdError,
};

/// Answer of a page.
pub(super) type Answer = Result<Response, Failure>;

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

/// Status, heading and text of a failure.
fn shown(failure: &Failure) -> (StatusCode, &'static str, String) {
    let of = |status, heading, text: &str| (status, heading, text.to_owned());
    match failure {
        Failure::ForeignForm => of(
            StatusCode::FORBIDDEN,
            "This form has expired",
            "It belongs to another browser or session, or cookies are off. Go back, load the page again and send the form once more.",
        ),
        Failure::Unreadable(error) => of(StatusCode::BAD_REQUEST, "The form could not be read", &error.description),
        Failure::NoSession => of(
            StatusCode::FORBIDDEN,
            "You are not logged in",
            "Your session has ended. Start again from the application that you came from.",
        ),
        Failure::Refused(ShownRefusal::Failed(cause)) => shown_error(cause),
        Failure::Refused(refusal) => {
            of(StatusCode::BAD_REQUEST, "The application's request is wrong", &refusal.to_string())
        }
        Failure::DeadLink => of(
            StatusCode::NOT_FOUND,
            "This link does not work any more",
            "It was used before, has expired, was withdrawn, or is meant for another account.",
        ),
        Failure::NoPage => of(StatusCode::NOT_FOUND, "Not found", "There is no page here."),
        Failure::Provider { name, cause } => {
            let text = format!("{name} did not confirm who you are: {cause}. Start the log-in again.");
            let status = if cause.is_of_the_browser() { StatusCode::FORBIDDEN } else { StatusCode::BAD_GATEWAY };
            (status, "Not logged in", text)
        }
        Failure::Platform(cause) => shown_error(cause),
    }
}

fn shown_error(cause: &PlatformError) -> (StatusCode, &'static str, String) {
    match cause {
        PlatformError::TooManyAttempts { .. } => (StatusCode::TOO_MANY_REQUESTS, "Too many attempts", sentence(cause)),
        PlatformError::WrongCredentials => (StatusCode::FORBIDDEN, "Not logged in", sentence(cause)),
        PlatformError::Validation { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "Please check the form", sentence(cause))
        }
        PlatformError::Forbidden { .. } => (StatusCode::FORBIDDEN, "Not allowed", sentence(cause)),
        PlatformError::NotFound { .. } => (StatusCode::NOT_FOUND, "Not found", sentence(cause)),
        PlatformError::Conflict { .. } => (StatusCode::CONFLICT, "Not possible", sentence(cause)),
        PlatformError::StorageFull { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "Try again later", "The service can't write at the moment.".to_owned())
        }
        // What has gone wrong inside is nothing for a stranger.
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong", "The service failed. Try again.".to_owned()),
    }
}

/// Returns a refusal as a sentence.
pub(super) fn sentence(cause: &PlatformError) -> String {
    let text = match cause {
        PlatformError::Validation { fields } => {
            let parts: Vec<String> =
                fields.iter().map(|field| format!("{}: expected {}", field.path, field.expected)).collect();
            parts.join("; ")
        }
        other => other.to_string(),
    };
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(characters).chain(['.']).collect()
}

/// Status of the answer to a form that is shown again with a refusal.
pub(super) fn status(cause: &PlatformError) -> StatusCode {
    shown_error(cause).0
}

/// Adds the time after which another attempt is taken.
pub(super) fn with_retry_after(mut response: Response, cause: &PlatformError) -> Response {
    if let PlatformError::TooManyAttempts { retry_after_secs } = cause {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*retry_after_secs));
    }
    response
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, heading, text) = shown(&self);
        let response = page::plain(Page { status, title: heading, wide: false }, html! { p { (text) } });
        match &self {
            Self::Platform(cause) => with_retry_after(response, cause),
            _ => response,
        }
    }
}

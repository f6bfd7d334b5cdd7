//! Errors of requests to the outside.

use core::time::Duration;
use std::net::IpAddr;

use hyper::StatusCode;

/// A request to the outside that was refused or failed.
///
/// Messages name the host and port: the rest of a URL, header fields and bodies may hold secrets. [`OutboundError::Status`] has the beginning
/// of what the server answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutboundError {
    /// The URL is none that requests may go to.
    #[error("the URL is refused: {reason}")]
    Url {
        /// What was expected and what came.
        reason: String,
    },
    /// The host has an address that must not be connected to.
    #[error("{place} is refused: its address {address} is {reason}")]
    Refused {
        /// Host and port.
        place: String,
        /// Address of the host.
        address: IpAddr,
        /// What the address is.
        reason: String,
    },
    /// The name has no address.
    #[error("{place}: its name was not resolved: {reason}")]
    Unresolved {
        /// Host and port.
        place: String,
        /// What the resolver said.
        reason: String,
    },
    /// No connection was made.
    #[error("{place}: no connection: {reason}")]
    Unreachable {
        /// Host and port.
        place: String,
        /// What went wrong at the last address that was tried.
        reason: String,
    },
    /// The server's certificate was refused, or the handshake failed.
    #[error("{place}: TLS failed: {reason}")]
    Tls {
        /// Host and port.
        place: String,
        /// What went wrong.
        reason: String,
    },
    /// The time was up.
    #[error("{place}: no whole response within {} ms", limit.as_millis())]
    Timeout {
        /// Host and port.
        place: String,
        /// Time that the request had.
        limit: Duration,
    },
    /// The response is longer than its bound.
    #[error("{place}: the response has more than {bytes_max} bytes")]
    TooLarge {
        /// Host and port.
        place: String,
        /// Bound of the body, in bytes.
        bytes_max: usize,
    },
    /// The exchange broke off, or was no HTTP.
    #[error("{place}: the exchange failed: {reason}")]
    Exchange {
        /// Host and port.
        place: String,
        /// What went wrong.
        reason: String,
    },
    /// The server answered with a redirect, which is not followed.
    #[error("{place}: answered with the redirect {status}, which is not followed; name the address that it leads to")]
    Redirect {
        /// Host and port.
        place: String,
        /// Status of the response.
        status: StatusCode,
    },
    /// The server answered with another status than 2xx.
    #[error("{place}: answered with {status}: {excerpt}")]
    Status {
        /// Host and port.
        place: String,
        /// Status of the response.
        status: StatusCode,
        /// Beginning of its body.
        excerpt: String,
    },
}

/// What to do about a failed request that is worth repeating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryClass {
    /// The request can't succeed as it is.
    Never,
    /// Repeat it later.
    Later,
    /// Repeat it later, and send the receiver less until then.
    SlowDown,
    /// The receiver wants no more (410): stop sending to it.
    Gone,
}

impl OutboundError {
    /// Returns whether and how the request is worth repeating.
    pub fn retry_class(&self) -> RetryClass {
        match self {
            Self::Url { .. } => RetryClass::Never,
            Self::Status { status: StatusCode::GONE, .. } => RetryClass::Gone,
            Self::Status {
                status: StatusCode::TOO_MANY_REQUESTS | StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT,
                ..
            } => RetryClass::SlowDown,
            // An address may be refused for as long as a name server errs, and a redirect end with a maintenance.
            _ => RetryClass::Later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_says_whether_to_repeat() {
        let status = |code: u16| OutboundError::Status {
            place: "a:443".to_owned(),
            status: StatusCode::from_u16(code).unwrap(),
            excerpt: String::new(),
        };
        for (error, class) in [
            (OutboundError::Url { reason: String::new() }, RetryClass::Never),
            (OutboundError::Timeout { place: String::new(), limit: Duration::ZERO }, RetryClass::Later),
            (status(400), RetryClass::Later),
            (status(410), RetryClass::Gone),
            (status(429), RetryClass::SlowDown),
            (status(500), RetryClass::Later),
            (status(502), RetryClass::SlowDown),
            (status(503), RetryClass::Later),
            (status(504), RetryClass::SlowDown),
        ] {
            assert_eq!(error.retry_class(), class, "{error}");
        }
    }
}

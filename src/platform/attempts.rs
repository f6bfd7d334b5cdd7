//! Bounds on attempts: how often something may be tried for one subject in a window of time.
//!
//! A subject is kept as a keyed hash. It need not exist: an address of e-mail that nobody has is bounded as every other, so that the bound
//! tells nobody which addresses are known.

use std::net::{IpAddr, Ipv6Addr};

use alloy_primitives::hex;
use serde::{Deserialize, Serialize};

use super::{
    PlatformError,
    context::Context,
    expiry::expired,
    records::{Index, Owner, PageRequest, Reach, Record, RecordError, SortKey, Unit},
};

/// Returns the network by which a client is counted: an address of IPv4, also one within IPv6, or the first 64 bits of one of IPv6. A host draws
/// the others itself (RFC 4291, 2.5.1).
pub fn network_of(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [first, second, third, fourth, ..] = address.segments();
            format!("{}/64", Ipv6Addr::from([first, second, third, fourth, 0, 0, 0, 0]))
        }
    }
}

/// What is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bounded {
    /// Passwords tried for an address of e-mail (OWASP ASVS 5.0, 6.3.1).
    LogIn,
    /// Passwords tried by the client at an address of the network, for whatever address of e-mail.
    LogInFrom,
    /// Mails with a token to an address of e-mail.
    Mail,
}

impl Bounded {
    const fn name(self) -> &'static str {
        match self {
            Self::LogIn => "log-in",
            Self::LogInFrom => "log-in-from",
            Self::Mail => "mail",
        }
    }

    /// Attempts in a window.
    pub(super) const fn attempts_max(self) -> u32 {
        match self {
            Self::LogIn => 10,
            Self::LogInFrom => 100,
            Self::Mail => 5,
        }
    }

    /// Length of the window, which begins with its first attempt, in milliseconds.
    pub(super) const fn window_ms(self) -> u64 {
        match self {
            Self::LogIn | Self::LogInFrom => 15 * 60 * 1000,
            Self::Mail => 60 * 60 * 1000,
        }
    }
}

/// Attempts of one kind for one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attempts {
    count: u32,
    /// End of the window, in milliseconds since the Unix epoch.
    ends_at_ms: u64,
}

impl Attempts {
    const BY_END: Index<Self> = Index::ordered(
        "end",
        Reach::Service,
        |_| Some(SortKey::new()),
        |attempts| SortKey::new().number(attempts.value.ends_at_ms),
    );
}

impl Record for Attempts {
    const KIND: &'static str = "attempts";
    const INDICES: &'static [Index<Self>] = &[Self::BY_END];
}

fn id(context: &Context, bounded: Bounded, subject: &str) -> String {
    let hash = context.secret.hash(format!("attempts\0{}\0{subject}", bounded.name()).as_bytes());
    format!("att_{}", hex::encode(&hash[..16]))
}

/// Counts one more attempt.
///
/// # Errors
/// [`PlatformError::TooManyAttempts`] when the window is full; it is not counted then.
pub(super) fn count(
    context: &Context,
    unit: &mut Unit<'_>,
    bounded: Bounded,
    subject: &str,
) -> Result<(), PlatformError> {
    let (id, now_ms) = (id(context, bounded, subject), unit.now_ms());
    let first = Attempts { count: 1, ends_at_ms: now_ms.saturating_add(bounded.window_ms()) };
    let Some(mut attempts) = unit.of::<Attempts>().get(&Owner::Service, &id)? else {
        unit.insert(&Owner::Service, &id, first)?;
        return Ok(());
    };
    let left_ms = attempts.value.ends_at_ms.saturating_sub(now_ms);
    if left_ms == 0 {
        attempts.value = first;
    } else if attempts.value.count < bounded.attempts_max() {
        attempts.value.count = attempts.value.count.saturating_add(1);
    } else {
        return Err(PlatformError::TooManyAttempts { retry_after_secs: left_ms.div_ceil(1000) });
    }
    unit.replace(&attempts)?;
    Ok(())
}

/// Forgets the attempts for a subject, after one that succeeded.
pub(super) fn forget(
    context: &Context,
    unit: &mut Unit<'_>,
    bounded: Bounded,
    subject: &str,
) -> Result<(), RecordError> {
    let attempts = unit.of::<Attempts>().get(&Owner::Service, &id(context, bounded, subject))?;
    attempts.map_or(Ok(()), |attempts| unit.delete(&attempts))
}

/// Deletes windows that have ended; returns how many.
pub(super) fn forget_ended(unit: &mut Unit<'_>, request: &PageRequest) -> Result<usize, RecordError> {
    let ended = expired(unit, &Attempts::BY_END, request, |attempts| attempts.ends_at_ms)?;
    ended.iter().try_for_each(|attempts| unit.delete(attempts))?;
    Ok(ended.len())
}

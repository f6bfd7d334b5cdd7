//! The limits of a service in one file: bounds of the server, and quotas of the billing plans.

use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::limits::ServerLimits;
use crate::platform::{INVITATIONS_MAX, Plan, Plans, WORKSPACES_MAX};

/// Range of [`ServerLimits::page_limit_max`]: a list answers 20 items without being asked for another number.
const PAGE_LIMITS: RangeInclusive<u64> = 20..=1_000;
/// Range of [`ServerLimits::call_gas_max`]: a call has as much as a transaction may have, at least (EIP-7825).
const CALL_GAS_LIMITS: RangeInclusive<u64> = 16_777_216..=1_000_000_000_000;
/// Range of [`Limits::invitations_max`]: the time of each is kept for an hour.
const INVITATION_LIMITS: RangeInclusive<u64> = 1..=10_000;

/// All limits that an operator sets.
///
/// ```
/// # use chainbox::server::Limits;
/// let limits = Limits::from_toml("
///     [server]
///     batch_calls_max = 50
///     request_timeout_secs = 30
///     rate = { requests = 600, window_secs = 60 }
///
///     [workspaces]
///     of_a_user_max = 5
///     invitations_an_hour_max = 20
///
///     [plans.free]
///     blockchains_max = 1
///     validators_max = 4
/// ")?;
/// assert_eq!((limits.server.batch_calls_max, limits.workspaces_max, limits.invitations_max), (50, 5, 20));
/// assert_eq!(limits.plans.named("free")?.api_keys_max, u64::MAX);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bounds of requests, connections and sessions.
    pub server: ServerLimits,
    /// Workspaces that a user is a member of, when it makes another; 100 by default.
    pub workspaces_max: u64,
    /// Invitations that a workspace, and a user in all workspaces, send within any hour; 100 by default.
    pub invitations_max: u64,
    /// Quotas of workspaces. A plan of the file takes the place of the one with its name; what it leaves out has no bound.
    pub plans: Plans,
}

impl Default for Limits {
    fn default() -> Self {
        let (workspaces_max, invitations_max) = (WORKSPACES_MAX, INVITATIONS_MAX);
        Self { server: ServerLimits::default(), workspaces_max, invitations_max, plans: Plans::default() }
    }
}

/// A file whose limits can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidLimits {
    /// It is no TOML, or has a field or a value that no limit has.
    #[error("{0}")]
    Malformed(#[from] toml::de::Error),
    /// A bound is out of its range.
    #[error("{field} is {found}: expected {expected}")]
    OutOfRange {
        /// Name of the bound.
        field: &'static str,
        /// Its value.
        found: u64,
        /// What it may be.
        expected: String,
    },
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct File {
    server: ServerLimits,
    workspaces: Workspaces,
    plans: BTreeMap<String, Plan>,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Workspaces {
    of_a_user_max: u64,
    invitations_an_hour_max: u64,
}

impl Default for Workspaces {
    fn default() -> Self {
        Self { of_a_user_max: WORKSPACES_MAX, invitations_an_hour_max: INVITATIONS_MAX }
    }
}

impl Limits {
    /// Reads a file. What it leaves out stays at its default.
    ///
    /// # Errors
    /// [`InvalidLimits`], which names the field.
    pub fn from_toml(text: &str) -> Result<Self, InvalidLimits> {
        let File { server, workspaces, plans } = toml::from_str(text)?;
        check(&server)?;
        let Workspaces { of_a_user_max: workspaces_max, invitations_an_hour_max: invitations_max } = workspaces;
        if workspaces_max == 0 {
            let (field, expected) = ("of_a_user_max", "at least 1, the one that is made with a user".to_owned());
            return Err(InvalidLimits::OutOfRange { field, found: 0, expected });
        }
        check_range("invitations_an_hour_max", invitations_max, &INVITATION_LIMITS)?;
        let plans = plans.into_iter().fold(Plans::default(), |all, (name, plan)| all.with(&name, plan));
        Ok(Self { server, workspaces_max, invitations_max, plans })
    }
}

/// Refuses bounds that would let nothing through.
fn check(limits: &ServerLimits) -> Result<(), InvalidLimits> {
    let size = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
    for (field, found) in [
        ("connections_max", size(limits.connections_max)),
        ("buffered_body_bytes_max", size(limits.buffered_body_bytes_max)),
        ("rest_requests_max", size(limits.rest_requests_max)),
        ("rest_body_bytes_max", size(limits.rest_body_bytes_max)),
        ("rpc_body_bytes_max", size(limits.rpc_body_bytes_max)),
        ("batch_calls_max", limits.batch_calls_max.into()),
        ("rate.requests", limits.rate.requests),
        ("rate.window_secs", limits.rate.window.as_secs()),
        ("form_rate.requests", limits.form_rate.requests),
        ("form_rate.window_secs", limits.form_rate.window.as_secs()),
        ("head_timeout_secs", limits.head_timeout.as_secs()),
        ("body_timeout_secs", limits.body_timeout.as_secs()),
        ("request_timeout_secs", limits.request_timeout.as_secs()),
        ("ping_interval_secs", limits.ping_interval.as_secs()),
        ("idle_timeout_secs", limits.idle_timeout.as_secs()),
        ("send_timeout_secs", limits.send_timeout.as_secs()),
    ] {
        if found == 0 {
            return Err(InvalidLimits::OutOfRange { field, found, expected: "at least 1".to_owned() });
        }
    }
    check_range("page_limit_max", limits.page_limit_max, &PAGE_LIMITS)?;
    check_range("call_gas_max", limits.call_gas_max, &CALL_GAS_LIMITS)
}

fn check_range(field: &'static str, found: u64, range: &RangeInclusive<u64>) -> Result<(), InvalidLimits> {
    if range.contains(&found) {
        return Ok(());
    }
    let expected = format!("{} to {}", range.start(), range.end());
    Err(InvalidLimits::OutOfRange { field, found, expected })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_limit_is_read_and_what_is_left_out_stays() {
        let limits = Limits::from_toml(
            "[server]\nconnections_max = 7\ncall_gas_max = 16777216\nrest_body_bytes_max = 10\npage_limit_max = 20\nbody_timeout_secs = 3\nrate.requests = 5\nform_rate.requests = 6\n[workspaces]\ninvitations_an_hour_max = 10000\n[plans.small]\noauth_clients_max = 1\ngas_max = 9\n",
        )
        .unwrap();
        let server = limits.server;
        assert_eq!((server.connections_max, server.rest_body_bytes_max, server.page_limit_max), (7, 10, 20));
        assert_eq!((server.body_timeout, server.rate.requests), (Duration::from_secs(3), 5));
        assert_eq!((server.call_gas_max, Limits::default().server.call_gas_max), (16_777_216, 50_000_000));
        assert_eq!((server.form_rate.requests, server.form_rate.window), (6, Duration::from_secs(60)));
        assert_eq!((server.rate.window, server.batch_calls_max), (Duration::from_secs(60), 1000));
        assert_eq!((limits.invitations_max, limits.workspaces_max), (10_000, 100));
        let small = limits.plans.named("small").unwrap();
        assert_eq!(small, Plan { oauth_clients_max: 1, gas_max: 9, ..Plan::UNLIMITED });
        assert_eq!(limits.plans.named(Plans::DEFAULT).unwrap(), Plans::default().named(Plans::DEFAULT).unwrap());
        assert_eq!(Limits::from_toml("").unwrap(), Limits::default());
    }

    #[test]
    fn what_is_no_limit_is_refused_by_name() {
        for (text, named) in [
            ("[server]\nspeed = 1", "speed"),
            ("[server]\nrequest_timeout = 5", "request_timeout"),
            ("[server]\nbatch_calls_max = 0", "batch_calls_max"),
            ("[server]\nbatch_calls_max = -1", "batch_calls_max"),
            ("[server]\npage_limit_max = 19", "20 to 1000"),
            ("[server]\npage_limit_max = 1001", "20 to 1000"),
            ("[server]\ncall_gas_max = 16777215", "16777216 to 1000000000000"),
            ("[server]\ncall_gas_max = 1000000000001", "16777216 to 1000000000000"),
            ("[server]\nrate = { requests = 0 }", "rate.requests"),
            ("[server]\nform_rate = { window_secs = 0 }", "form_rate.window_secs"),
            ("[workspaces]\nof_a_user_max = 0", "of_a_user_max"),
            ("[workspaces]\nmax = 1", "max"),
            ("[workspaces]\ninvitations_an_hour_max = 0", "invitations_an_hour_max is 0: expected 1 to 10000"),
            ("[workspaces]\ninvitations_an_hour_max = 10001", "1 to 10000"),
            ("[plans.free]\nchains = 1", "chains"),
            ("[plan.free]", "plan"),
        ] {
            let error = Limits::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}

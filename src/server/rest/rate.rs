//! The rate limit: so many requests of one caller in a window of time.
//!
//! The headers are those of the IETF draft "RateLimit header fields for HTTP".

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::http::{HeaderMap, HeaderValue, header};

use crate::{
    platform::network_of,
    server::{
        clock::{MonotonicClock, Ticks},
        limits::RateLimit,
    },
};

/// Callers of one sort that are counted at one time; past it, those whose window has ended are forgotten.
const CALLERS_MAX: usize = 100_000;

/// A caller's requests since the start of its window.
#[derive(Clone, Copy, Debug)]
struct Window {
    started: Duration,
    requests: u64,
}

/// Counts the requests of each caller.
#[derive(Clone, Debug)]
pub(in crate::server) struct Rates {
    limit: RateLimit,
    clock: Arc<dyn Ticks>,
    /// Of callers whose credentials are known.
    known: Arc<Mutex<Windows>>,
    /// Of strangers, by network: they take no place from callers who are known.
    strangers: Arc<Mutex<Windows>>,
}

/// Windows of callers by name.
type Windows = HashMap<String, Window>;

/// What is left to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) struct Quota {
    limit: RateLimit,
    remaining: u64,
    /// Seconds until the window ends, rounded up.
    resets_in_secs: u64,
    is_exceeded: bool,
}

impl Rates {
    /// Counts from zero.
    pub(in crate::server) fn new(limit: RateLimit) -> Self {
        Self::with_clock(limit, Arc::new(MonotonicClock::default()))
    }

    pub(super) fn with_clock(limit: RateLimit, clock: Arc<dyn Ticks>) -> Self {
        Self { limit, clock, known: Arc::default(), strangers: Arc::default() }
    }

    /// Counts a request of `caller`, whose credentials are known, unless its window is full.
    pub(in crate::server) fn count(&self, caller: &str) -> Quota {
        self.count_more(caller, 1)
    }

    /// Counts so many requests of `caller` at once: all of them, or none where its window has no room for them.
    pub(in crate::server) fn count_more(&self, caller: &str, requests: u64) -> Quota {
        self.count_in(&self.known, caller, requests)
    }

    /// Counts a request of a stranger by its network, unless the window of that is full.
    pub(in crate::server) fn count_stranger(&self, address: Option<IpAddr>) -> Quota {
        self.count_in(&self.strangers, &address.map_or_else(|| "unknown".to_owned(), network_of), 1)
    }

    fn count_in(&self, windows: &Mutex<Windows>, caller: &str, requests: u64) -> Quota {
        let (now, limit) = (self.clock.elapsed(), self.limit);
        let mut windows = windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= CALLERS_MAX && !windows.contains_key(caller) {
            windows.retain(|_, window| now.saturating_sub(window.started) < limit.window);
            // All of them are active: one more stranger is not worth the memory.
            if windows.len() >= CALLERS_MAX {
                return Quota { limit, remaining: 0, resets_in_secs: limit.window.as_secs().max(1), is_exceeded: true };
            }
        }
        let window = windows.entry(caller.to_owned()).or_insert(Window { started: now, requests: 0 });
        if now.saturating_sub(window.started) >= limit.window {
            *window = Window { started: now, requests: 0 };
        }
        let counted = window.requests.saturating_add(requests);
        let is_exceeded = counted > limit.requests;
        if !is_exceeded {
            window.requests = counted;
        }
        let left = limit.window.saturating_sub(now.saturating_sub(window.started));
        Quota {
            limit,
            remaining: limit.requests.saturating_sub(window.requests),
            resets_in_secs: left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0)),
            is_exceeded,
        }
    }
}

impl Quota {
    /// Whether the request is one too many.
    pub(in crate::server) const fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// Requests of a window.
    pub(in crate::server) const fn limit(&self) -> RateLimit {
        self.limit
    }

    /// Seconds until the caller may try again.
    pub(in crate::server) const fn resets_in_secs(&self) -> u64 {
        self.resets_in_secs
    }

    /// Tells the caller.
    pub(in crate::server) fn tell(&self, headers: &mut HeaderMap) {
        let policy = format!("\"default\";q={};w={}", self.limit.requests, self.limit.window.as_secs());
        let state = format!("\"default\";r={};t={}", self.remaining, self.resets_in_secs);
        for (name, value) in [("ratelimit-policy", policy), ("ratelimit", state)] {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
        if self.is_exceeded {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(self.resets_in_secs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Hand(Mutex<Duration>);

    impl Ticks for Hand {
        fn elapsed(&self) -> Duration {
            *self.0.lock().unwrap()
        }
    }

    #[test]
    fn the_quota_holds_to_the_request_and_comes_back_with_the_window() {
        let clock = Arc::new(Hand::default());
        let limit = RateLimit { requests: 3, window: Duration::from_secs(60) };
        let rates = Rates::with_clock(limit, clock.clone());
        for remaining in [2, 1, 0] {
            let quota = rates.count("key");
            assert_eq!((quota.remaining, quota.is_exceeded()), (remaining, false));
        }
        *clock.0.lock().unwrap() = Duration::from_millis(500);
        let quota = rates.count("key");
        assert!(quota.is_exceeded());
        let mut headers = HeaderMap::new();
        quota.tell(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"default\";q=3;w=60");
        assert_eq!(headers["ratelimit"], "\"default\";r=0;t=60");
        assert_eq!(headers["retry-after"], "60");
        assert!(!rates.count("another").is_exceeded());
        *clock.0.lock().unwrap() = Duration::from_secs(60);
        assert!(!rates.count("key").is_exceeded());
    }

    #[test]
    fn requests_that_come_together_are_counted_all_or_none() {
        let rates = Rates::new(RateLimit { requests: 5, window: Duration::from_secs(60) });
        let count = |requests| {
            let quota = rates.count_more("key", requests);
            (quota.remaining, quota.is_exceeded())
        };
        assert_eq!(count(6), (5, true), "more than a window has");
        assert_eq!(count(3), (2, false));
        assert_eq!(count(3), (2, true), "one too many");
        assert_eq!(count(2), (0, false));
        assert_eq!(count(1), (0, true));
        assert_eq!(count(u64::MAX), (0, true));
    }

    #[test]
    fn a_stranger_has_one_window_whatever_address_of_its_network_it_takes_and_no_place_of_others() {
        let rates = Rates::new(RateLimit { requests: 2, window: Duration::from_secs(60) });
        let stranger = |address: &str| rates.count_stranger(Some(address.parse().unwrap())).is_exceeded();
        assert!(!stranger("2001:db8::1") && !stranger("2001:db8::2") && stranger("2001:db8::3"));
        assert!(!stranger("2001:db8:0:1::1") && !stranger("192.0.2.1") && !stranger("192.0.2.2"));
        assert!(!stranger("::ffff:192.0.2.1") && stranger("192.0.2.1"));
        for number in 0..CALLERS_MAX {
            rates.count_in(&rates.strangers, &number.to_string(), 1);
        }
        assert!(stranger("198.51.100.1"), "one more than there is room for");
        assert!(!rates.count("key").is_exceeded());
    }
}

//! When a mail that was not taken is tried again, and when it is given up.

use core::time::Duration;

/// A minute, in seconds.
const MINUTE: u64 = 60;
/// An hour, in seconds.
const HOUR: u64 = 60 * MINUTE;

/// Age at which a mail is given up: RFC 5321, 4.5.4.1 asks for at least four days.
pub const MAIL_AGE_MAX: Duration = Duration::from_secs(4 * 24 * HOUR);
/// Pause after the relay itself has failed once; each further failure doubles it.
pub const RELAY_PAUSE: Duration = Duration::from_secs(30);
/// Longest pause after failures of the relay.
pub const RELAY_PAUSE_MAX: Duration = Duration::from_secs(10 * MINUTE);

/// Delays after the first failures. Somebody may be waiting for the mail, so the first ones are short; a relay that asks for patience
/// (greylisting) mostly wants minutes.
const FIRST_DELAYS: [Duration; 6] = [
    Duration::from_secs(30),
    Duration::from_secs(2 * MINUTE),
    Duration::from_secs(10 * MINUTE),
    Duration::from_secs(30 * MINUTE),
    Duration::from_secs(HOUR),
    Duration::from_secs(2 * HOUR),
];
/// Delay after all others.
const LAST_DELAY: Duration = Duration::from_secs(4 * HOUR);

/// Returns the time until the next attempt after so many failures.
pub fn retry_delay(failures: u32) -> Duration {
    let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    FIRST_DELAYS.get(index).copied().unwrap_or(LAST_DELAY)
}

/// Returns the pause after so many failures of the relay, one after the other.
pub(super) fn relay_pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    RELAY_PAUSE.saturating_mul(1 << doublings).min(RELAY_PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_bound() {
        assert_eq!([1, 6, 7, u32::MAX].map(|failures| retry_delay(failures).as_secs()), [30, 7_200, 14_400, 14_400]);
        let attempts = (1..).scan(Duration::ZERO, |age, failures| {
            *age += retry_delay(failures);
            Some(*age)
        });
        assert_eq!(attempts.take_while(|age| *age < MAIL_AGE_MAX).count(), 29, "attempts within four days");
        assert_eq!([1, 2, 6, u32::MAX].map(|failures| relay_pause(failures).as_secs()), [30, 60, 600, 600]);
    }
}

//! Domain names under which pages of dApps are served.

use core::net::Ipv4Addr;

use crate::platform::PlatformError;

/// Bytes of a name (RFC 1035, 2.3.4, without the dot of the root).
const NAME_LEN_MAX: usize = 253;
/// Bytes of a label (RFC 1035, 2.3.4).
const LABEL_LEN_MAX: usize = 63;

/// Last labels of names that nobody has in the public name system (RFC 6761, RFC 6762, RFC 7686, RFC 8375, RFC 9476, ICANN's `internal`).
const SPECIAL: [&str; 8] = ["alt", "arpa", "internal", "invalid", "local", "localhost", "onion", "test"];

/// Returns a domain in lower case.
///
/// # Errors
/// As [`domain_name`]; also for a name of the service's own.
pub(super) fn read(text: &str, own: &[String]) -> Result<String, PlatformError> {
    let name = domain_name(text)?;
    if own.iter().any(|own| own.eq_ignore_ascii_case(&name)) {
        let expected = "another domain name than the service's own";
        return Err(PlatformError::field("frontend.customDomain", expected, text));
    }
    Ok(name)
}

/// Returns the name of a dApp's domain in lower case.
///
/// # Errors
/// [`PlatformError::Validation`] of `frontend.customDomain` for what is no domain name of at least two labels of letters, digits and `-`
/// (RFC 1123, 2.1), for an IP address, and for a name of special use.
pub fn domain_name(text: &str) -> Result<String, PlatformError> {
    let wrong = |expected: &str| Err(PlatformError::field("frontend.customDomain", expected, text));
    let name = text.to_ascii_lowercase();
    let labels: Vec<&str> = name.split('.').collect();
    if name.len() > NAME_LEN_MAX || labels.len() < 2 || !labels.iter().all(|label| is_label(label)) {
        return wrong("a domain name of at most 253 letters, digits, - and ., such as dapp.example.com");
    }
    let last = labels.last().copied().unwrap_or_default();
    if name.parse::<Ipv4Addr>().is_ok() || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return wrong("a domain name, not an IP address");
    }
    if SPECIAL.contains(&last) {
        return wrong("a domain name of the public name system, not one of special use");
    }
    Ok(name)
}

fn is_label(label: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_LEN_MAX).contains(&label.len())
        && label.bytes().all(is_fine)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_lower_case_and_others_refused() {
        let own = ["service.example".to_owned()];
        assert_eq!(read("Shop.Example.COM", &own).unwrap(), "shop.example.com");
        assert_eq!(read("xn--bcher-kva.example", &own).unwrap(), "xn--bcher-kva.example");
        assert!(read("a.service.example", &own).is_ok(), "what is below the service's name is proved like any other");
        let at_bound = format!("{}.{}.{}.{}", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61));
        assert_eq!(at_bound.len(), 253);
        assert!(read(&at_bound, &own).is_ok());
        for wrong in [
            "",
            "example",
            "localhost",
            "a.localhost",
            "a.test",
            "a.local",
            "10.0.0.1",
            "1.2.3",
            "[::1]",
            "a..example",
            ".example",
            "example.com.",
            "-a.example",
            "a-.example",
            "a_b.example",
            "b\u{fc}cher.example",
            "a.example:80",
            "a.example/x",
            "SERVICE.example",
            &format!("{}.example", "a".repeat(64)),
            &format!("{at_bound}d"),
        ] {
            assert!(read(wrong, &own).is_err(), "{wrong}");
        }
    }
}

//! Which IP addresses the service connects to: those of the public Internet alone.
//!
//! Refused is every range of IANA's registries of special-purpose addresses (RFC 6890; the registries as of 2025), multicast, and every
//! IPv6 form that carries an IPv4 address, whatever address it carries: no web server is reached in any of them. Ranges that the
//! registries call globally reachable, such as AS112's name servers, are refused too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Special-purpose ranges of IPv4: network, length of the prefix, what it is.
const SPECIAL_V4: &[(Ipv4Addr, u8, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network (RFC 791)"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private (RFC 1918)"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier's customers, CGNAT (RFC 6598)"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback (RFC 1122)"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local (RFC 3927)"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private (RFC 1918)"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "for protocol assignments (RFC 6890)"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation (RFC 5737)"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "for AS112 name servers (RFC 7535)"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "for multicast tunnels, AMT (RFC 7450)"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "for 6to4 relays (RFC 7526)"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private (RFC 1918)"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "for AS112 name servers (RFC 7534)"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks (RFC 2544)"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation (RFC 5737)"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation (RFC 5737)"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast (RFC 5771)"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved, or broadcast (RFC 1112, RFC 919)"),
];

/// Special-purpose ranges of IPv6. Of two that contain an address, the one that stands first names it.
const SPECIAL_V6: &[(Ipv6Addr, u8, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified (RFC 4291)"),
    (Ipv6Addr::LOCALHOST, 128, "loopback (RFC 4291)"),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, "an IPv4 address, mapped (RFC 4291)"),
    (Ipv6Addr::UNSPECIFIED, 96, "an IPv4 address, IPv4-compatible (RFC 4291)"),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "an IPv4 address, NAT64 (RFC 6052)"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "an IPv4 address, NAT64 in a network of its own (RFC 8215)"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "for discarding (RFC 6666)"),
    (Ipv6Addr::new(0x100, 0, 0, 1, 0, 0, 0, 0), 64, "for dummy addresses (RFC 9780)"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "an IPv4 address, Teredo (RFC 4380)"),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, "for benchmarks (RFC 5180)"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "for protocol assignments (RFC 2928)"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation (RFC 3849)"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "an IPv4 address, 6to4 (RFC 3056)"),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, "for AS112 name servers (RFC 7534)"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation (RFC 9637)"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "for segment routing (RFC 9602)"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private, unique local (RFC 4193)"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local (RFC 4291)"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local (RFC 3879)"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast (RFC 4291)"),
];

/// The addresses that IANA gives out as global unicast; all others are reserved (RFC 4291, 2.4).
const GLOBAL_UNICAST: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Returns what an address is when it is none of the public Internet, and `None` for one that may be connected to.
///
/// A NAT64 gateway with a prefix of its network's own (RFC 6052, 2.2) can't be known from the address: whoever runs one must keep it from
/// translating to private addresses, as RFC 6052, 5.1 asks.
pub fn refusal(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            let found = SPECIAL_V4.iter().find(|(network, length, _)| v4_contains(*network, *length, address));
            found.map(|(_, _, what)| *what)
        }
        IpAddr::V6(address) => {
            let found = SPECIAL_V6.iter().find(|(network, length, _)| v6_contains(*network, *length, address));
            let (global, length) = GLOBAL_UNICAST;
            match found {
                Some((_, _, what)) => Some(*what),
                None if !v6_contains(global, length, address) => Some("reserved (RFC 4291)"),
                None if is_isatap(address) => Some("an IPv4 address, ISATAP (RFC 5214)"),
                None => None,
            }
        }
    }
}

/// Returns whether the interface identifier is that of an ISATAP tunnel: `0000:5efe` or `0200:5efe` and an IPv4 address.
const fn is_isatap(address: Ipv6Addr) -> bool {
    let [_, _, _, _, high, low, _, _] = address.segments();
    low == 0x5efe && high & !0x0200 == 0
}

/// Returns whether a network has an address. A length above 32 is that of the whole address.
pub(in crate::server) fn v4_contains(network: Ipv4Addr, length: u8, address: Ipv4Addr) -> bool {
    let differing = network.to_bits() ^ address.to_bits();
    differing.leading_zeros() >= u32::from(length.min(32))
}

/// Returns whether a network has an address. A length above 128 is that of the whole address.
pub(in crate::server) fn v6_contains(network: Ipv6Addr, length: u8, address: Ipv6Addr) -> bool {
    let differing = network.to_bits() ^ address.to_bits();
    differing.leading_zeros() >= u32::from(length.min(128))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn word(text: &str) -> Option<&'static str> {
        refusal(text.parse().unwrap())
    }

    /// First and last address of each entry of IANA's two registries, as they list them, and those beside.
    #[test]
    fn every_range_of_the_registries_is_refused_to_its_last_address() {
        for (first, last, says) in [
            ("0.0.0.0", "0.255.255.255", "this network"),
            ("10.0.0.0", "10.255.255.255", "private"),
            ("100.64.0.0", "100.127.255.255", "CGNAT"),
            ("127.0.0.0", "127.255.255.255", "loopback"),
            ("169.254.0.0", "169.254.255.255", "link-local"),
            ("172.16.0.0", "172.31.255.255", "private"),
            ("192.0.0.0", "192.0.0.7", "protocol"),
            ("192.0.0.8", "192.0.0.8", "protocol"),
            ("192.0.0.9", "192.0.0.10", "protocol"),
            ("192.0.0.170", "192.0.0.171", "protocol"),
            ("192.0.0.0", "192.0.0.255", "protocol"),
            ("192.0.2.0", "192.0.2.255", "documentation"),
            ("192.31.196.0", "192.31.196.255", "AS112"),
            ("192.52.193.0", "192.52.193.255", "AMT"),
            ("192.88.99.0", "192.88.99.255", "6to4"),
            ("192.168.0.0", "192.168.255.255", "private"),
            ("192.175.48.0", "192.175.48.255", "AS112"),
            ("198.18.0.0", "198.19.255.255", "benchmarks"),
            ("198.51.100.0", "198.51.100.255", "documentation"),
            ("203.0.113.0", "203.0.113.255", "documentation"),
            ("224.0.0.0", "239.255.255.255", "multicast"),
            ("240.0.0.0", "255.255.255.254", "reserved"),
            ("255.255.255.255", "255.255.255.255", "broadcast"),
            ("::", "::", "unspecified"),
            ("::1", "::1", "loopback"),
            ("::2", "::ffff:ffff", "IPv4-compatible"),
            ("::ffff:0.0.0.0", "::ffff:255.255.255.255", "mapped"),
            ("64:ff9b::", "64:ff9b::ffff:ffff", "NAT64"),
            ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "NAT64"),
            ("100::", "100::ffff:ffff:ffff:ffff", "discarding"),
            ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", "dummy"),
            ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "Teredo"),
            ("2001:1::1", "2001:1::3", "protocol"),
            ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "benchmarks"),
            ("2001:3::", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff", "protocol"),
            ("2001:4:112::", "2001:4:112:ffff:ffff:ffff:ffff:ffff", "protocol"),
            ("2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", "protocol"),
            ("2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", "protocol"),
            ("2001:30::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", "protocol"),
            ("2001:1ff::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "protocol"),
            ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
            ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "6to4"),
            ("2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "AS112"),
            ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
            ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "segment routing"),
            ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "unique local"),
            ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local"),
            ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site-local"),
            ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
            ("4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved"),
            ("8000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved"),
        ] {
            for address in [first, last] {
                let what = word(address).unwrap_or_else(|| panic!("{address} is not refused"));
                assert!(what.contains(says), "{address}: {what}");
            }
        }
    }

    #[test]
    fn public_addresses_beside_the_ranges_are_not_refused() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "203.0.114.0",
            "223.255.255.255",
            "8.8.8.8",
            "2001:200::",
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db9::",
            "2003::",
            "2606:4700:4700::1111",
            "2a00:1450:4001:80e::200e",
            "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "3fff:1000::",
            "2620:4f:7fff::",
        ] {
            assert_eq!(word(address), None, "{address}");
        }
    }

    /// The IPv6 forms that carry an IPv4 address.
    fn embeddings(address: Ipv4Addr, filler: u64) -> Vec<Ipv6Addr> {
        let v4 = u128::from(address.to_bits());
        let prefix = |bits: u128| Ipv6Addr::from_bits(bits | v4);
        let first = |segments: [u16; 2]| (u128::from(segments[0]) << 112) | (u128::from(segments[1]) << 96);
        let global = (0x2a00_u128 << 112) | (u128::from(filler & 0xffff_ffff) << 64);
        vec![
            address.to_ipv6_mapped(),
            address.to_ipv6_compatible(),
            prefix(first([0x64, 0xff9b])),
            prefix(first([0x64, 0xff9b]) | (1 << 80) | (u128::from(filler & 0xffff) << 48)),
            Ipv6Addr::from_bits((0x2002 << 112) | (v4 << 80) | u128::from(filler)),
            // Teredo: server, flags, and the client's address with its bits turned over.
            Ipv6Addr::from_bits((0x2001 << 112) | (v4 << 64) | u128::from(filler)),
            Ipv6Addr::from_bits((0x2001 << 112) | (u128::from(filler) << 32) | (!v4 & 0xffff_ffff)),
            prefix(global | (0x5efe << 32)),
            prefix(global | (0x0200_5efe << 32)),
        ]
    }

    proptest! {
        #[test]
        fn an_embedded_address_is_refused_in_every_form(bits: u32, filler: u64) {
            for address in embeddings(Ipv4Addr::from_bits(bits), filler) {
                prop_assert!(refusal(IpAddr::V6(address)).is_some(), "{address}");
            }
        }

        #[test]
        fn every_address_of_a_refused_range_is_refused(row in 0..SPECIAL_V4.len(), host: u32, filler: u64) {
            let (network, length, _) = SPECIAL_V4[row];
            let mask = u32::MAX.checked_shr(u32::from(length)).unwrap_or(0);
            let address = Ipv4Addr::from_bits(network.to_bits() | (host & mask));
            prop_assert!(refusal(IpAddr::V4(address)).is_some(), "{address}");
            for embedded in embeddings(address, filler) {
                prop_assert!(refusal(IpAddr::V6(embedded)).is_some(), "{embedded} of {address}");
            }
        }

        #[test]
        fn every_address_of_a_refused_ipv6_range_is_refused(row in 0..SPECIAL_V6.len(), host: u128) {
            let (network, length, _) = SPECIAL_V6[row];
            let mask = u128::MAX.checked_shr(u32::from(length)).unwrap_or(0);
            let address = Ipv6Addr::from_bits(network.to_bits() | (host & mask));
            prop_assert!(refusal(IpAddr::V6(address)).is_some(), "{address}");
        }

        /// The standard library's own judgements, where it has stable ones, agree.
        #[test]
        fn what_the_standard_library_calls_special_is_refused(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let special = address.is_private() || address.is_loopback() || address.is_link_local() || address.is_multicast()
                || address.is_broadcast() || address.is_documentation() || address.is_unspecified();
            prop_assert!(!special || refusal(IpAddr::V4(address)).is_some(), "{address}");
        }
    }
}

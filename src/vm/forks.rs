//! Ethereum's forks as one table: what a fork adds to headers, transactions and the gas of whole transactions.
//!
//! Headers, validation, gas and the JSON-RPC read this table and nothing else. Template gas ([`GasSchedule`](super::GasSchedule)) is the
//! same at every fork. A [`BlockContext`](super::BlockContext) names its fork, on which the opcodes and precompiles of bytecode depend.

use core::fmt;

use alloy_consensus::constants::EMPTY_WITHDRAWALS;
use alloy_eips::{eip7623::TOTAL_COST_FLOOR_PER_TOKEN, eip7685::EMPTY_REQUESTS_HASH, eip7825::MAX_TX_GAS_LIMIT_OSAKA};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::primitives::{B256, Gas};

/// Largest RLP of a block from Osaka on, in bytes (EIP-7934: 10 MiB less a margin of 2 MiB for the consensus layer).
const BLOCK_RLP_BYTES_MAX: usize = 10 * 1_024 * 1_024 - 2 * 1_024 * 1_024;

/// Largest init code from Shanghai on, in bytes (EIP-3860).
const INIT_CODE_BYTES_MAX: usize = 49_152;

/// A fork of Ethereum's execution rules, in order of activation. A chain runs one from genesis on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Hardfork {
    /// The rules below the height of London, for chains whose London begins after genesis; not selectable.
    Berlin,
    /// Base fees (August 2021).
    London,
    /// Proof of stake: `mixHash` is randomness (September 2022).
    Paris,
    /// Withdrawals, warm coinbase, bounded init code (April 2023).
    Shanghai,
    /// Blob gas and the parent's beacon root in headers (March 2024).
    Cancun,
    /// Requests in headers, a floor for the price of call data (May 2025).
    Prague,
    /// Bounds of a transaction's gas and of a block's length (December 2025).
    #[default]
    Osaka,
}

/// The rules of one fork: a row of the table.
///
/// | from | rule | source |
/// |---|---|---|
/// | London | headers have a base fee, type 2 transactions are valid | EIP-1559 |
/// | Paris | `mixHash` is never zero, contracts read it as `prevRandao` | EIP-4399 |
/// | Shanghai | `withdrawalsRoot`, of no withdrawals | EIP-4895 |
/// | Shanghai | the coinbase is warm in every transaction | EIP-3651 |
/// | Shanghai | init code is bounded, and paid by the word | EIP-3860 |
/// | Cancun | `blobGasUsed`, `excessBlobGas`, both zero | EIP-4844 |
/// | Cancun | `parentBeaconBlockRoot`, zero | EIP-4788 |
/// | Prague | `requestsHash`, of no requests | EIP-7685 |
/// | Prague | a transaction uses at least its call data's floor | EIP-7623 |
/// | Osaka | a transaction's gas limit is at most 2^24 | EIP-7825 |
/// | Osaka | a block's RLP has at most 8,388,608 bytes | EIP-7934 |
///
/// Departures from Ethereum: after Paris, `difficulty` stays the protocol's (Clique's 1 or 2, on which its fork choice rests), and
/// `mixHash` is predictable unless the protocol is proof of stake ([`predictable_mix_hash`](crate::chain::predictable_mix_hash)).
/// There are no withdrawals, no blob or set-code transactions, no requests and no system contracts of Ethereum's (EIP-4788, EIP-2935).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkRules {
    /// The fork.
    pub hardfork: Hardfork,
    /// Whether headers have a base fee and type 2 transactions are valid (EIP-1559).
    pub has_base_fee: bool,
    /// Whether `mixHash` is randomness and never zero (EIP-4399).
    pub has_prev_randao: bool,
    /// The header's `withdrawalsRoot`: the root of no withdrawals (EIP-4895).
    pub withdrawals_root: Option<B256>,
    /// Whether the block's fee recipient is warm when a transaction begins (EIP-3651).
    pub has_warm_coinbase: bool,
    /// Largest init code, in bytes; where there is a bound, each word of a creation's init code is paid (EIP-3860).
    pub init_code_bytes_max: Option<usize>,
    /// The header's `blobGasUsed`: zero (EIP-4844).
    pub blob_gas_used: Option<u64>,
    /// The header's `excessBlobGas`: zero (EIP-4844).
    pub excess_blob_gas: Option<u64>,
    /// The header's `parentBeaconBlockRoot`: zero, for there is no beacon chain (EIP-4788).
    pub parent_beacon_block_root: Option<B256>,
    /// The header's `requestsHash`: of no requests, SHA-256 of nothing (EIP-7685).
    pub requests_hash: Option<B256>,
    /// Least gas that a transaction pays for a token of call data (a zero byte is one, another byte four), in gas units (EIP-7623).
    pub calldata_floor_per_token: Option<u64>,
    /// Largest gas limit of a transaction (EIP-7825); genesis may turn it off.
    pub tx_gas_limit_max: Option<Gas>,
    /// Largest RLP of a block, in bytes (EIP-7934).
    pub block_rlp_bytes_max: Option<usize>,
}

impl Hardfork {
    /// The selectable forks, oldest first.
    pub const ALL: [Self; 6] = [Self::London, Self::Paris, Self::Shanghai, Self::Cancun, Self::Prague, Self::Osaka];

    /// Returns the fork's rules.
    pub const fn rules(self) -> ForkRules {
        ForkRules {
            hardfork: self,
            has_base_fee: self.has(Self::London),
            has_prev_randao: self.has(Self::Paris),
            withdrawals_root: if self.has(Self::Shanghai) { Some(EMPTY_WITHDRAWALS) } else { None },
            has_warm_coinbase: self.has(Self::Shanghai),
            init_code_bytes_max: if self.has(Self::Shanghai) { Some(INIT_CODE_BYTES_MAX) } else { None },
            blob_gas_used: if self.has(Self::Cancun) { Some(0) } else { None },
            excess_blob_gas: if self.has(Self::Cancun) { Some(0) } else { None },
            parent_beacon_block_root: if self.has(Self::Cancun) { Some(B256::ZERO) } else { None },
            requests_hash: if self.has(Self::Prague) { Some(EMPTY_REQUESTS_HASH) } else { None },
            calldata_floor_per_token: if self.has(Self::Prague) { Some(TOTAL_COST_FLOOR_PER_TOKEN) } else { None },
            tx_gas_limit_max: if self.has(Self::Osaka) { Some(Gas::new(MAX_TX_GAS_LIMIT_OSAKA)) } else { None },
            block_rlp_bytes_max: if self.has(Self::Osaka) { Some(BLOCK_RLP_BYTES_MAX) } else { None },
        }
    }

    /// Returns whether this fork is `other` or came after it.
    const fn has(self, other: Self) -> bool {
        self as u8 >= other as u8
    }

    /// Returns the fork's name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Berlin => "berlin",
            Self::London => "london",
            Self::Paris => "paris",
            Self::Shanghai => "shanghai",
            Self::Cancun => "cancun",
            Self::Prague => "prague",
            Self::Osaka => "osaka",
        }
    }

    /// Returns the selectable fork with this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fork| fork.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Hardfork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name, in lower case.
impl Serialize for Hardfork {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Hardfork {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            D::Error::custom(format_args!("there is no fork {name:?}; choose one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_stays_once_it_is_there() {
        let forks = [[Hardfork::Berlin].as_slice(), &Hardfork::ALL].concat();
        let on = |rules: ForkRules| {
            [
                rules.has_base_fee,
                rules.has_prev_randao,
                rules.withdrawals_root.is_some(),
                rules.has_warm_coinbase,
                rules.init_code_bytes_max.is_some(),
                rules.blob_gas_used.is_some(),
                rules.excess_blob_gas.is_some(),
                rules.parent_beacon_block_root.is_some(),
                rules.requests_hash.is_some(),
                rules.calldata_floor_per_token.is_some(),
                rules.tx_gas_limit_max.is_some(),
                rules.block_rlp_bytes_max.is_some(),
            ]
        };
        let counts = forks.iter().map(|fork| on(fork.rules()).into_iter().filter(|is_on| *is_on).count());
        assert_eq!(counts.collect::<Vec<_>>(), [0, 1, 2, 5, 8, 10, 12]);
        for pair in forks.windows(2) {
            let kept = on(pair[0].rules()).into_iter().zip(on(pair[1].rules())).all(|(before, after)| after || !before);
            assert!(kept, "{} after {}", pair[1], pair[0]);
        }
    }

    /// SHA-256 of nothing, and the root of the empty trie.
    #[test]
    fn constants_are_the_published_ones() {
        let rules = Hardfork::Osaka.rules();
        let hash = "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(rules.requests_hash.unwrap().to_string(), hash);
        assert_eq!(rules.withdrawals_root, Some(crate::state::EMPTY_ROOT));
        assert_eq!(rules.tx_gas_limit_max, Some(Gas::new(16_777_216)));
        assert_eq!(rules.block_rlp_bytes_max, Some(8_388_608));
    }

    #[test]
    fn names_are_read_in_any_case_and_others_refused_with_the_list() {
        for fork in Hardfork::ALL {
            let json = serde_json::to_string(&fork).unwrap();
            assert_eq!(serde_json::from_str::<Hardfork>(&json).unwrap(), fork);
            assert_eq!(Hardfork::from_name(&fork.name().to_uppercase()), Some(fork));
        }
        for bad in ["berlin", "frontier", ""] {
            let error = serde_json::from_str::<Hardfork>(&format!("{bad:?}")).unwrap_err().to_string();
            assert!(error.contains("london, paris, shanghai, cancun, prague, osaka"), "{error}");
        }
    }
}

//! Contracts in native Rust, and their markers in the state.

use core::fmt::{self, Debug};

use alloy_json_abi::JsonAbi;
use alloy_primitives::Bytes;
use serde::{Deserialize, Serialize};

use super::{Host, ParameterNote, Stop, storage::StorageLayout};

/// Identity of a template: its number and the version of its behaviour and storage layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TemplateId {
    /// Number of the template; those below [`USER_IDS_FROM`](super::USER_IDS_FROM) are chainbox's own.
    pub id: u16,
    /// Version; a deployed contract keeps the version it was deployed with.
    pub version: u16,
}

impl TemplateId {
    /// Returns the identity of version `version` of template `id`.
    pub const fn new(id: u16, version: u16) -> Self {
        Self { id, version }
    }
}

impl fmt::Display for TemplateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.id, self.version)
    }
}

/// Behaviour of a contract. It stays object-safe.
///
/// A template keeps no state but what it writes through [`Host`], and equal calls must have equal effects on every
/// machine: no clock, randomness, floats or iteration over hash maps, and checked arithmetic, as debug and release
/// builds differ otherwise. A panic is caught and fails the frame; a stack overflow cannot be caught, so keep large
/// buffers on the heap.
///
/// ```
/// use chainbox::{
///     primitives::{Address, Bytes, Gas, U256},
///     state::{CommitId, Journal, MemoryState, StateStore},
///     vm::{BlockContext, Host, Marker, Message, Stop, Template, TemplateId, TemplateRegistry, abi, execute},
/// };
/// use std::sync::Arc;
///
/// /// Counts how often it was called.
/// #[derive(Debug)]
/// struct Counter;
///
/// impl Template for Counter {
///     fn id(&self) -> TemplateId {
///         TemplateId::new(0x8000, 1)
///     }
///     fn name(&self) -> &str {
///         "counter"
///     }
///     fn abi(&self) -> alloy_json_abi::JsonAbi {
///         alloy_json_abi::JsonAbi::new()
///     }
///     fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
///         let (start,) = abi::decode_params::<(alloy_sol_types::sol_data::Uint<256>,)>(params)?;
///         host.store(U256::ZERO, start)
///     }
///     fn call(&self, host: &mut Host<'_>, _input: &[u8]) -> Result<Bytes, Stop> {
///         let count = host.load(U256::ZERO)?.checked_add(U256::from(1)).ok_or_else(|| abi::revert_with("full"))?;
///         host.store(U256::ZERO, count)?;
///         Ok(abi::encode_output_u256(count))
///     }
/// }
///
/// let mut registry = TemplateRegistry::new();
/// registry.register(Arc::new(Counter))?;
/// let mut journal = Journal::new(MemoryState::new().view(CommitId::EMPTY)?);
/// let (caller, block, gas) = (Address::repeat_byte(1), BlockContext::default(), Gas::new(100_000));
/// let init_code = Marker(Counter.id()).init_code(&abi::encode_output_u256(U256::from(41)));
/// let create = Message::create(caller, 0, U256::ZERO, &init_code, gas);
/// assert!(execute(&mut journal, &block, &registry, &create)?.is_success());
/// let answer = execute(&mut journal, &block, &registry, &Message::call(caller, create.to, U256::ZERO, &[], gas))?;
/// assert_eq!(U256::from_be_slice(&answer.output), U256::from(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Template: Debug + Send + Sync {
    /// Its id and version; never reused for other behaviour. A chain refuses a template whose ABI, storage layout or
    /// [gas table](Self::gas_table) is another one than when its contracts were deployed, so their change needs a new version.
    fn id(&self) -> TemplateId;

    /// Its name in the service's vocabulary, such as `erc20-token`.
    fn name(&self) -> &str;

    /// What its contracts are, in a line without a full stop; empty by default.
    fn summary(&self) -> &str {
        ""
    }

    /// Its functions, events, errors and constructor.
    fn abi(&self) -> JsonAbi;

    /// What the ABI does not tell about the constructor's parameters: descriptions, units, defaults. A parameter without a default is
    /// required where contracts are deployed by name.
    fn parameters(&self) -> Vec<ParameterNote> {
        Vec::new()
    }

    /// Its variables in storage, as [`StorageLayout::of`] lists them.
    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::default()
    }

    /// Gas of its operations as its tests have it, a line each, as part of its [digest](super::Descriptor::digest); empty for a template
    /// that does not fix its gas with its version.
    fn gas_table(&self) -> &str {
        ""
    }

    /// Returns whether its contracts may open frames in the name of the signer who calls them
    /// ([`Host::call_for_signer`]). Only chainbox's own template `batch` does: a registry refuses any other.
    fn acts_for_signer(&self) -> bool {
        false
    }

    /// Sets a new contract up from ABI-encoded constructor parameters.
    ///
    /// # Errors
    /// [`Stop`] when there will be no contract.
    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop>;

    /// Runs a call and returns its return data.
    ///
    /// # Errors
    /// [`Stop`] when the call fails.
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop>;
}

/// The code of a deployed contract: `0xEF 0xCB`, template id and version, both big-endian.
///
/// No EVM code starts with 0xEF (EIP-3541), and 0xEF00 and 0xEF01 have other meanings (EIP-3540, EIP-7702). Init code
/// is the marker followed by the ABI-encoded constructor parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker(pub TemplateId);

impl Marker {
    /// First two bytes.
    pub const PREFIX: [u8; 2] = [0xef, 0xcb];
    /// Length in bytes.
    pub const LEN: usize = 6;

    /// Splits `code` into its marker and the bytes after it; `None` without a marker.
    pub fn split(code: &[u8]) -> Option<(Self, &[u8])> {
        let (marker, rest) = code.split_first_chunk::<{ Self::LEN }>()?;
        let [a, b, id_high, id_low, version_high, version_low] = *marker;
        let id =
            TemplateId::new(u16::from_be_bytes([id_high, id_low]), u16::from_be_bytes([version_high, version_low]));
        ([a, b] == Self::PREFIX).then_some((Self(id), rest))
    }

    /// Returns the bytes of a deployed contract's code.
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        let [id_high, id_low] = self.0.id.to_be_bytes();
        let [version_high, version_low] = self.0.version.to_be_bytes();
        [Self::PREFIX[0], Self::PREFIX[1], id_high, id_low, version_high, version_low]
    }

    /// Returns the init code of a creation transaction with ABI-encoded constructor parameters.
    pub fn init_code(self, params: &[u8]) -> Bytes {
        [self.to_bytes().as_slice(), params].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles only while the trait is object-safe.
    const _: fn(&dyn Template) = |_| {};

    #[test]
    fn a_marker_comes_back_with_what_follows() {
        let marker = Marker(TemplateId::new(0x0102, 0x0304));
        let init_code = marker.init_code(&[9, 9]);
        assert_eq!(init_code.as_ref(), [0xef, 0xcb, 1, 2, 3, 4, 9, 9]);
        assert_eq!(Marker::split(&init_code), Some((marker, [9, 9].as_slice())));
        assert_eq!(Marker::split(&init_code[..5]), None);
        assert_eq!(Marker::split(&[0xef, 0, 1, 2, 3, 4]), None);
    }
}

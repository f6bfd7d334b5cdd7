//! What the values of a deployment may depend on beside themselves.

use core::fmt;
use std::collections::BTreeMap;

use alloy_primitives::Address;

/// Who deploys, how long a block takes, and which names stand for addresses.
///
/// ```
/// use std::collections::BTreeMap;
/// use chainbox::{primitives::Address, templates::{self, LiquidityPool}, vm::{DeploymentContext, Descriptor}};
/// let pool = Descriptor::of(&**templates::builtin().by_name(LiquidityPool::NAME).unwrap());
/// let names = BTreeMap::from([("GLD".to_owned(), Address::repeat_byte(1)), ("SLV".to_owned(), Address::repeat_byte(2))]);
/// let context = DeploymentContext::new(Address::ZERO).with_names(&names);
/// let params = serde_json::from_str(r#"{"token0": "GLD", "token1": "SLV"}"#)?;
/// assert_eq!(pool.encode(&params, context).unwrap().len(), 6 + 64);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct DeploymentContext<'a> {
    pub(super) deployer: Address,
    pub(super) block_time_secs: Option<u64>,
    names: Option<&'a BTreeMap<String, Address>>,
}

impl<'a> DeploymentContext<'a> {
    /// The account that sends the transaction, which is the default of parameters such as `owner`.
    pub const fn new(deployer: Address) -> Self {
        Self { deployer, block_time_secs: None, names: None }
    }

    /// Says how many seconds a block takes, not 0, so that a number of blocks may be written as a duration.
    #[must_use]
    pub const fn with_block_time(self, secs: u64) -> Self {
        Self { block_time_secs: if secs == 0 { None } else { Some(secs) }, ..self }
    }

    /// Lets these names be written for addresses.
    #[must_use]
    pub const fn with_names(self, names: &'a BTreeMap<String, Address>) -> Self {
        Self { names: Some(names), ..self }
    }

    /// Returns the address that a text is: `0x` and 40 hex digits, with the checksum of EIP-55 if it has letters of both cases, or a name.
    pub(super) fn address(&self, text: &str) -> Option<Address> {
        match self.names.and_then(|names| names.get(text)) {
            Some(address) => Some(*address),
            None if text.starts_with("0x") => address_of(text),
            None => None,
        }
    }

    /// Returns what an address is, in words.
    pub(super) fn expected_address(&self) -> String {
        let plain = "an address (0x and 40 hex digits)";
        match self.names.map(|names| names.keys().map(String::as_str).collect::<Vec<_>>()) {
            Some(names) if !names.is_empty() => format!("{plain}, or one of the names {}", names.join(", ")),
            _ => plain.to_owned(),
        }
    }
}

fn address_of(text: &str) -> Option<Address> {
    match alloy_dyn_abi::DynSolType::Address.coerce_json(&text.into()).ok()? {
        alloy_dyn_abi::DynSolValue::Address(address) => Some(address),
        _ => None,
    }
}

impl From<Address> for DeploymentContext<'_> {
    fn from(deployer: Address) -> Self {
        Self::new(deployer)
    }
}

impl fmt::Debug for DeploymentContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deployer, block_time_secs, names } = self;
        f.debug_tuple("DeploymentContext").field(deployer).field(block_time_secs).field(names).finish()
    }
}

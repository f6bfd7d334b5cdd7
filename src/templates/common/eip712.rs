//! OpenZeppelin's `EIP712`: the domain under which a contract's users sign typed data (EIP-712, EIP-5267).

use alloy_primitives::{b256, keccak256};

use self::interface::StringTooLong;
use crate::vm::contract::*;

/// Errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// A text does not fit into a word with its length: it has more than 31 bytes.
        error StringTooLong(string str);
    }
}

/// `EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)`
const DOMAIN_TYPE: B256 = b256!("8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f");

/// Bytes of a text that fits into one word with its length, as solc's immutables need it (`ShortStrings`).
const SHORT_STRING_BYTES_MAX: usize = 31;

storage! {
    /// Places that earlier versions of OpenZeppelin had for long texts; unused since 5.7.
    pub contract Eip712 {
        /// Name of the domain.
        pub name_fallback: Slot<String>,
        /// Version of the domain.
        pub version_fallback: Slot<String>,
    }
}

impl Eip712 {
    /// Refuses texts that are too long for a domain (`constructor`).
    ///
    /// # Errors
    /// [`StringTooLong`] above 31 bytes.
    pub fn construct(name: &str, version: &str) -> Result<(), Stop> {
        for text in [name, version] {
            require(text.len() <= SHORT_STRING_BYTES_MAX, StringTooLong { str: text.to_owned() })?;
        }
        Ok(())
    }
}

/// A domain: name, version, the chain, the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Name.
    pub name: String,
    /// Version, which the template fixes: its hash costs nothing, as the immutable of a contract.
    pub version: &'static str,
}

/// What `eip712Domain` returns: fields, name, version, chain id, contract, salt, extensions.
pub type DomainFields = (FixedBytes<1>, String, String, U256, Address, B256, Vec<U256>);

impl Domain {
    /// Returns the domain separator (`_domainSeparatorV4`).
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn separator(&self, host: &mut Host<'_>) -> Result<B256, Stop> {
        let name = host.keccak(self.name.as_bytes())?;
        let (chain_id, contract) = (U256::from(host.chain_id()), host.address());
        host.keccak(&(DOMAIN_TYPE, name, keccak256(self.version), chain_id, contract).abi_encode())
    }

    /// Returns the hash that a user signs for a struct with this hash (`_hashTypedDataV4`).
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn hash_typed_data(&self, host: &mut Host<'_>, struct_hash: B256) -> Result<B256, Stop> {
        let separator = self.separator(host)?;
        host.keccak(&[[0x19, 0x01].as_slice(), separator.as_slice(), struct_hash.as_slice()].concat())
    }

    /// Returns the fields of the domain (`eip712Domain`, EIP-5267).
    pub fn fields(self, host: &Host<'_>) -> DomainFields {
        let (chain_id, contract) = (U256::from(host.chain_id()), host.address());
        (FixedBytes([0x0f]), self.name, self.version.to_owned(), chain_id, contract, B256::ZERO, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::{SolStruct, eip712_domain, sol};

    use super::*;
    use crate::vm::sandbox::Sandbox;

    sol! {
        struct Mail {
            address to;
            string contents;
        }
    }

    #[test]
    fn the_type_hash_is_that_of_its_text() {
        let text = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
        assert_eq!(keccak256(text), DOMAIN_TYPE);
    }

    /// Against alloy's implementation of EIP-712.
    #[test]
    fn hashes_are_those_of_the_standard() {
        let mut sandbox = Sandbox::new();
        let domain = Domain { name: "A name of more than thirty-one bytes".to_owned(), version: "2" };
        let known = eip712_domain! {
            name: "A name of more than thirty-one bytes", version: "2", chain_id: 31_337, verifying_contract: Sandbox::CONTRACT,
        };
        let mail = Mail { to: Address::repeat_byte(3), contents: "hello".to_owned() };
        let hash = mail.eip712_hash_struct();
        let own = domain.clone();
        let got = sandbox.run(move |host| Ok((own.separator(host)?, own.hash_typed_data(host, hash)?)));
        assert_eq!(got, Ok((known.hash_struct(), mail.eip712_signing_hash(&known))));
        let fields = sandbox.run(move |host| Ok(domain.clone().fields(host))).unwrap();
        assert_eq!((fields.0.0, fields.2.as_str(), fields.4), ([0x0f], "2", Sandbox::CONTRACT));
    }

    #[test]
    fn long_texts_are_refused() {
        let (longest, long) = ("n".repeat(31), "n".repeat(32));
        assert_eq!(Eip712::construct(&longest, &longest), Ok(()));
        let refused = Err(revert(&StringTooLong { str: long.clone() }));
        assert_eq!(Eip712::construct(&long, "1"), refused);
        assert_eq!(Eip712::construct("", &long), refused);
        assert_eq!(StringTooLong::SELECTOR, [0x30, 0x5a, 0x27, 0xa9]);
    }
}

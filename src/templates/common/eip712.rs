//! OpenZeppelin's `EIP712`: the domain under which a contract's users sign typed data (EIP-712, EIP-5267).

use alloy_primitives::{b256, keccak256};

use crate::vm::contract::*;

/// `EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)`
const DOMAIN_TYPE: B256 = b256!("8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f");

storage! {
    /// Texts of the domain that are too long for solc's immutables: those of more than 31 bytes.
    pub contract Eip712 {
        /// Name of the domain.
        pub name_fallback: Slot<String>,
        /// Version of the domain.
        pub version_fallback: Slot<String>,
    }
}

impl Eip712 {
    /// Stores the texts that are too long for an immutable (`constructor`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn construct(self, host: &mut Host<'_>, name: &str, version: &str) -> Result<(), Stop> {
        for (slot, text) in [(self.name_fallback, name), (self.version_fallback, version)] {
            if text.len() > 31 {
                slot.set(host, text.to_owned())?;
            }
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
    fn only_long_texts_are_stored() {
        let mut sandbox = Sandbox::new();
        sandbox.run(|host| Eip712::STATE.construct(host, &"n".repeat(32), &"v".repeat(31))).unwrap();
        assert_eq!(sandbox.run(|host| Eip712::STATE.name_fallback.get(host)), Ok("n".repeat(32)));
        assert_eq!(sandbox.word(1), B256::ZERO);
    }
}

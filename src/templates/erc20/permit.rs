//! Approval by signature (EIP-2612) under the token's EIP-712 domain (EIP-5267).

use alloy_primitives::{Address, B256, Bytes, FixedBytes, U256, b256, uint};
use alloy_sol_types::{SolCall, SolValue};

use super::{interface as sol, token::Token};
use crate::vm::{
    Stop,
    abi::{CallArgs, revert},
};

const NONCES: U256 = U256::from_limbs([8, 0, 0, 0]);

/// `EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)`
const DOMAIN_TYPE: B256 = b256!("8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f");
/// `Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)`
const PERMIT_TYPE: B256 = b256!("6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9");
/// Keccak of `1`.
const VERSION_HASH: B256 = b256!("c89efdaa54c0f20c7adf612882df0950f5a951637e0307cdcb4c672f298b8bc6");
/// Half the order of secp256k1's group: OpenZeppelin's `ECDSA` refuses a larger `s`.
const S_MAX: U256 = uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

impl Token<'_, '_> {
    pub(super) fn permit(&mut self, args: &CallArgs<'_>) -> Result<Bytes, Stop> {
        args.require_words(7)?;
        let (owner, spender, value) = (args.address(0)?, args.address(1)?, args.u256(2)?);
        let (deadline, v, r, s) = (args.u256(3)?, args.u8(4)?, args.u256(5)?, args.u256(6)?);
        if U256::from(self.0.block().timestamp.as_secs()) > deadline {
            return Err(revert(&sol::ERC2612ExpiredSignature { deadline }));
        }
        let nonce = self.use_nonce(&owner)?;
        let fields = (PERMIT_TYPE, owner, spender, value, nonce, deadline).abi_encode();
        let message = self.0.keccak(&fields)?;
        let domain = self.domain_separator()?;
        let hash = self.0.keccak(&[[0x19, 0x01].as_slice(), domain.as_slice(), message.as_slice()].concat())?;
        if s > S_MAX {
            return Err(revert(&sol::ECDSAInvalidSignatureS { s: s.into() }));
        }
        let signer = self.0.recover(hash, v, r, s)?.ok_or_else(|| revert(&sol::ECDSAInvalidSignature {}))?;
        if signer != owner {
            return Err(revert(&sol::ERC2612InvalidSigner { signer, owner }));
        }
        self.set_allowance(owner, spender, value)?;
        self.0.emit(&sol::Approval { owner, spender, value })?;
        Ok(Bytes::new())
    }

    pub(super) fn nonce(&mut self, owner: &Address) -> Result<U256, Stop> {
        let slot = self.0.address_mapping_slot(owner, NONCES)?;
        self.0.load(slot)
    }

    fn use_nonce(&mut self, owner: &Address) -> Result<U256, Stop> {
        let slot = self.0.address_mapping_slot(owner, NONCES)?;
        let nonce = self.0.load(slot)?;
        self.0.store(slot, nonce.wrapping_add(U256::from(1)))?;
        Ok(nonce)
    }

    pub(super) fn domain_separator(&mut self) -> Result<B256, Stop> {
        let name = self.name()?;
        let name_hash = self.0.keccak(name.as_bytes())?;
        let (chain_id, contract) = (U256::from(self.0.chain_id()), self.0.address());
        self.0.keccak(&(DOMAIN_TYPE, name_hash, VERSION_HASH, chain_id, contract).abi_encode())
    }

    pub(super) fn eip712_domain(&mut self) -> Result<Bytes, Stop> {
        let domain = sol::eip712DomainReturn {
            fields: FixedBytes([0x0f]),
            name: self.name()?,
            version: "1".to_owned(),
            chainId: U256::from(self.0.chain_id()),
            verifyingContract: self.0.address(),
            salt: B256::ZERO,
            extensions: Vec::new(),
        };
        Ok(sol::eip712DomainCall::abi_encode_returns(&domain).into())
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn type_hashes_are_those_of_their_texts() {
        let domain = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
        let permit = "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)";
        assert_eq!([DOMAIN_TYPE, PERMIT_TYPE, VERSION_HASH], [domain, permit, "1"].map(keccak256));
    }
}

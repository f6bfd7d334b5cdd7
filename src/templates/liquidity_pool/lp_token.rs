//! The LP token: UniswapV2ERC20.

use alloy_primitives::{b256, keccak256, uint};

use super::interface::{self as sol, permitCall};
use crate::{
    templates::common::ds_math::{DsMath, require_that},
    vm::contract::*,
};

/// Name of every LP token, and of its EIP-712 domain.
pub(super) const NAME: &str = "Uniswap V2";
/// Symbol of every LP token.
pub(super) const SYMBOL: &str = "UNI-V2";
/// Decimals of every LP token.
pub(super) const DECIMALS: u8 = 18;
/// Version of the EIP-712 domain.
const VERSION: &str = "1";

/// `EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)`
const DOMAIN_TYPE: B256 = b256!("8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f");
/// `Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)`
pub(super) const PERMIT_TYPE: B256 = b256!("6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9");

/// Order of secp256k1's group.
const ORDER: U256 = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);

storage! {
    /// UniswapV2ERC20's variables.
    pub(super) contract LpToken {
        pub(super) total_supply: Slot<U256> as "totalSupply",
        pub(super) balances: Mapping<Address, U256> as "balanceOf",
        pub(super) allowances: Mapping<Address, Mapping<Address, U256>> as "allowance",
        pub(super) domain_separator: Slot<B256> as "DOMAIN_SEPARATOR",
        pub(super) nonces: Mapping<Address, U256> as "nonces",
    }
}

impl LpToken {
    /// Keeps the domain of permits (`constructor`).
    pub(super) fn construct(self, host: &mut Host<'_>) -> Result<(), Stop> {
        let (name, version) = (keccak256(NAME), keccak256(VERSION));
        let (chain_id, contract) = (U256::from(host.chain_id()), host.address());
        let separator = host.keccak(&(DOMAIN_TYPE, name, version, chain_id, contract).abi_encode())?;
        self.domain_separator.set(host, separator)
    }

    /// Makes LP tokens (`_mint`).
    pub(super) fn mint(self, host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
        self.total_supply.update(host, |supply| supply.ds_add(value))?;
        self.balances.at(host, to)?.update(host, |balance| balance.ds_add(value))?;
        host.emit(&sol::Transfer { from: Address::ZERO, to, value })
    }

    /// Destroys LP tokens (`_burn`).
    pub(super) fn burn(self, host: &mut Host<'_>, from: Address, value: U256) -> Result<(), Stop> {
        self.balances.at(host, from)?.update(host, |balance| balance.ds_sub(value))?;
        self.total_supply.update(host, |supply| supply.ds_sub(value))?;
        host.emit(&sol::Transfer { from, to: Address::ZERO, value })
    }

    pub(super) fn approve(self, host: &mut Host<'_>, spender: Address, value: U256) -> Result<bool, Stop> {
        let owner = host.caller();
        self.set_allowance(host, owner, spender, value)?;
        Ok(true)
    }

    pub(super) fn transfer(self, host: &mut Host<'_>, to: Address, value: U256) -> Result<bool, Stop> {
        let from = host.caller();
        self.move_tokens(host, from, to, value)?;
        Ok(true)
    }

    pub(super) fn transfer_from(
        self,
        host: &mut Host<'_>,
        from: Address,
        to: Address,
        value: U256,
    ) -> Result<bool, Stop> {
        let spender = host.caller();
        let allowance = self.allowances.at(host, from)?.at(host, spender)?;
        let allowed = allowance.get(host)?;
        if allowed != U256::MAX {
            allowance.set(host, allowed.ds_sub(value)?)?;
        }
        self.move_tokens(host, from, to, value)?;
        Ok(true)
    }

    pub(super) fn permit(self, host: &mut Host<'_>, call: &permitCall) -> Result<(), Stop> {
        let permitCall { owner, spender, value, deadline, .. } = *call;
        let now = U256::from(host.block().timestamp.as_secs());
        require_that(deadline >= now, "UniswapV2: EXPIRED")?;
        let separator = self.domain_separator.get(host)?;
        let mut nonce = U256::ZERO;
        self.nonces.at(host, owner)?.update(host, |current| {
            nonce = current;
            Ok(current.wrapping_add(U256::ONE))
        })?;
        let permit = host.keccak(&(PERMIT_TYPE, owner, spender, value, nonce, deadline).abi_encode())?;
        let digest = host.keccak(&[[0x19, 0x01].as_slice(), separator.as_slice(), permit.as_slice()].concat())?;
        let signer = ecrecover(host, digest, call)?;
        require_that(signer == Some(owner), "UniswapV2: INVALID_SIGNATURE")?;
        self.set_allowance(host, owner, spender, value)
    }

    fn set_allowance(self, host: &mut Host<'_>, owner: Address, spender: Address, value: U256) -> Result<(), Stop> {
        self.allowances.at(host, owner)?.set(host, spender, value)?;
        host.emit(&sol::Approval { owner, spender, value })
    }

    fn move_tokens(self, host: &mut Host<'_>, from: Address, to: Address, value: U256) -> Result<(), Stop> {
        self.balances.at(host, from)?.update(host, |balance| balance.ds_sub(value))?;
        self.balances.at(host, to)?.update(host, |balance| balance.ds_add(value))?;
        host.emit(&sol::Transfer { from, to, value })
    }
}

/// Returns the signer as the precompile does, which takes both forms of a signature: the host takes the one with the lower `s`.
fn ecrecover(host: &mut Host<'_>, digest: B256, call: &permitCall) -> Result<Option<Address>, Stop> {
    let (v, r, s): (u8, U256, U256) = (call.v, call.r.into(), call.s.into());
    let (v, s) = match ORDER.checked_sub(s) {
        Some(other) if other < s && matches!(v, 27 | 28) => (55 - v, other),
        _ => (v, s),
    };
    // A signature is never that of the zero address here: recovery has no such result.
    host.recover(digest, v, r, s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{primitives::KeyPair, vm::sandbox::Sandbox};

    #[test]
    fn type_hashes_are_those_of_their_texts() {
        let domain = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
        let permit = "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)";
        assert_eq!((keccak256(domain), keccak256(permit)), (DOMAIN_TYPE, PERMIT_TYPE));
    }

    #[test]
    fn both_forms_of_a_signature_have_its_signer() {
        let key = KeyPair::from_bytes(&B256::repeat_byte(7)).unwrap();
        let digest = B256::repeat_byte(9);
        let signature = key.sign_hash(digest);
        let (v, r, s) = (27 + u8::from(signature.v()), signature.r(), signature.s());
        let signer = Some(key.address());
        let cases = [
            (v, r, s, signer),
            (55 - v, r, ORDER - s, signer),
            (v - 27, r, s, None),
            (29, r, ORDER - s, None),
            (v, r, U256::ZERO, None),
            (v, r, ORDER, None),
            (v, r, U256::MAX, None),
            (v, U256::ZERO, s, None),
        ];
        for (v, r, s, want) in cases {
            let call = permitCall {
                owner: Address::ZERO,
                spender: Address::ZERO,
                value: U256::ZERO,
                deadline: U256::ZERO,
                v,
                r: r.into(),
                s: s.into(),
            };
            let got = Sandbox::new().run(move |host| ecrecover(host, digest, &call));
            assert_eq!(got, Ok(want), "{v} {r} {s}");
        }
    }
}

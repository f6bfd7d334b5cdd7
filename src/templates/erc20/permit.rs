//! Approval by signature (EIP-2612) under the token's EIP-712 domain (EIP-5267).

use alloy_primitives::b256;

use super::{
    interface::{self as sol, permitCall},
    state::{TOKEN, domain},
    token::set_allowance,
};
use crate::{templates::common::ecdsa, vm::contract::*};

/// `Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)`
const PERMIT_TYPE: B256 = b256!("6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9");

pub(super) fn permit(host: &mut Host<'_>, call: &permitCall) -> Result<(), Stop> {
    let permitCall { owner, spender, value, deadline, v, r, s } = *call;
    let now = U256::from(host.block().timestamp.as_secs());
    require(now <= deadline, sol::ERC2612ExpiredSignature { deadline })?;
    let nonce = TOKEN.nonces.use_nonce(host, owner)?;
    let message = host.keccak(&(PERMIT_TYPE, owner, spender, value, nonce, deadline).abi_encode())?;
    let hash = domain(host)?.hash_typed_data(host, message)?;
    let signer = ecdsa::recover(host, hash, v, r, s)?;
    require(signer == owner, sol::ERC2612InvalidSigner { signer, owner })?;
    set_allowance(host, owner, spender, value)?;
    host.emit(&sol::Approval { owner, spender, value })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn the_type_hash_is_that_of_its_text() {
        let permit = "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)";
        assert_eq!(keccak256(permit), PERMIT_TYPE);
    }
}

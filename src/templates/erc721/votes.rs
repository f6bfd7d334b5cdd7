//! One vote a token (`ERC721Votes`), with delegation by signature under the token's EIP-712 domain (EIP-5267).

use alloy_primitives::aliases::U48;

use super::{
    interface::delegateBySigCall,
    state::{NFT, require_feature},
    token::balance_of,
};
use crate::{
    templates::common::{
        Domain, Votes,
        votes::{self, Delegation},
    },
    vm::contract::*,
};

/// Version of the EIP-712 domain.
pub(super) const VERSION: &str = "1";

/// Returns the votes of a token that has them.
pub(super) fn enabled(host: &mut Host<'_>) -> Result<Votes, Stop> {
    require_feature(host, |has| has.votes)?;
    Ok(NFT.votes)
}

pub(super) fn clock(host: &mut Host<'_>) -> Result<U48, Stop> {
    enabled(host)?;
    votes::clock(host)
}

pub(super) fn clock_mode(host: &mut Host<'_>) -> Result<String, Stop> {
    enabled(host)?;
    Ok(votes::CLOCK_MODE.to_owned())
}

pub(super) fn nonces(host: &mut Host<'_>, owner: Address) -> Result<U256, Stop> {
    enabled(host)?;
    NFT.nonces.nonces.get(host, owner)
}

pub(super) fn domain(host: &mut Host<'_>) -> Result<Domain, Stop> {
    enabled(host)?;
    Ok(Domain { name: NFT.name.get(host)?, version: VERSION })
}

pub(super) fn delegate(host: &mut Host<'_>, delegatee: Address) -> Result<(), Stop> {
    let account = host.caller();
    enabled(host)?.delegate(host, account, delegatee, balance_of)
}

pub(super) fn delegate_by_sig(host: &mut Host<'_>, call: &delegateBySigCall) -> Result<(), Stop> {
    let delegateBySigCall { delegatee, nonce, expiry, v, r, s } = *call;
    let domain = domain(host)?;
    let delegation = Delegation { delegatee, nonce, expiry, v, r, s };
    let signer = Votes::delegation_signer(host, &domain, NFT.nonces, &delegation)?;
    NFT.votes.delegate(host, signer, delegatee, balance_of)
}

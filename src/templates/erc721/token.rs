//! Who owns a token, and who may move it (`ERC721`).

use super::{interface as sol, state::NFT};
use crate::vm::contract::*;

pub(super) fn balance_of(host: &mut Host<'_>, owner: Address) -> Result<U256, Stop> {
    require(!owner.is_zero(), sol::ERC721InvalidOwner { owner })?;
    NFT.balances.get(host, owner)
}

/// Returns a token's owner (`ownerOf`, `_requireOwned`).
pub(super) fn require_owned(host: &mut Host<'_>, token_id: U256) -> Result<Address, Stop> {
    let owner = NFT.owners.get(host, token_id)?;
    require(!owner.is_zero(), sol::ERC721NonexistentToken { tokenId: token_id })?;
    Ok(owner)
}

pub(super) fn get_approved(host: &mut Host<'_>, token_id: U256) -> Result<Address, Stop> {
    require_owned(host, token_id)?;
    NFT.token_approvals.get(host, token_id)
}

pub(super) fn is_approved_for_all(host: &mut Host<'_>, owner: Address, operator: Address) -> Result<bool, Stop> {
    NFT.operator_approvals.at(host, owner)?.get(host, operator)
}

pub(super) fn approve(host: &mut Host<'_>, to: Address, token_id: U256) -> Result<(), Stop> {
    let approver = host.caller();
    let owner = require_owned(host, token_id)?;
    let may_approve = is_nobody(approver) || owner == approver || is_approved_for_all(host, owner, approver)?;
    require(may_approve, sol::ERC721InvalidApprover { approver })?;
    host.emit(&sol::Approval { owner, approved: to, tokenId: token_id })?;
    NFT.token_approvals.set(host, token_id, to)
}

pub(super) fn set_approval_for_all(host: &mut Host<'_>, operator: Address, approved: bool) -> Result<(), Stop> {
    let owner = host.caller();
    require(!owner.is_zero(), sol::ERC721InvalidApprover { approver: owner })?;
    require(!operator.is_zero(), sol::ERC721InvalidOperator { operator })?;
    NFT.operator_approvals.at(host, owner)?.set(host, operator, approved)?;
    host.emit(&sol::ApprovalForAll { owner, operator, approved })
}

/// Gives a token an owner, nobody when it is burnt, and returns who owned it (`ERC721._update`). `auth` has to be its owner or approved,
/// unless it is zero.
pub(super) fn change_owner(host: &mut Host<'_>, to: Address, token_id: U256, auth: Address) -> Result<Address, Stop> {
    let from = NFT.owners.get(host, token_id)?;
    if !is_nobody(auth) {
        check_authorized(host, from, auth, token_id)?;
    }
    if !from.is_zero() {
        NFT.token_approvals.set(host, token_id, Address::ZERO)?;
        // It has this token at least.
        NFT.balances.at(host, from)?.update(host, |balance| Ok(balance.wrapping_sub(U256::ONE)))?;
    }
    if !to.is_zero() {
        // As many tokens as there are ids fit.
        NFT.balances.at(host, to)?.update(host, |balance| Ok(balance.wrapping_add(U256::ONE)))?;
    }
    NFT.owners.set(host, token_id, to)?;
    host.emit(&sol::Transfer { from, to, tokenId: token_id })?;
    Ok(from)
}

fn check_authorized(host: &mut Host<'_>, owner: Address, spender: Address, token_id: U256) -> Result<(), Stop> {
    let is_authorized = owner == spender
        || is_approved_for_all(host, owner, spender)?
        || NFT.token_approvals.get(host, token_id)? == spender;
    if is_authorized {
        return Ok(());
    }
    require(!owner.is_zero(), sol::ERC721NonexistentToken { tokenId: token_id })?;
    Err(revert(&sol::ERC721InsufficientApproval { operator: spender, tokenId: token_id }))
}

/// Returns whether an account is one that OpenZeppelin asks for nothing. Its functions name the zero address where nobody is asked, and so
/// an `eth_call` from there may do anything; no transaction comes from there.
fn is_nobody(account: Address) -> bool {
    account.is_zero()
}

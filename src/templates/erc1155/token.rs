//! Balances, approvals, supplies; what roles may do.

use alloy_primitives::b256;

use super::{IMMUTABLES, interface as sol};
use crate::{
    templates::common::{AccessControl, DEFAULT_ADMIN_ROLE, Erc2981, Pausable, receivers},
    vm::contract::*,
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract TokenStorage {
        pub(super) balances: Mapping<U256, Mapping<Address, U256>>,
        pub(super) operator_approvals: Mapping<Address, Mapping<Address, bool>>,
        pub(super) uri: Slot<String>,
        pub(super) roles: AccessControl,
        pub(super) pausable: Pausable,
        pub(super) total_supply: Mapping<U256, U256>,
        pub(super) total_supply_all: Slot<U256>,
        pub(super) royalty: Erc2981,
    }
}

storage! {
    /// What Solidity would put into the code.
    pub(super) contract TokenImmutables layout at IMMUTABLES {
        /// [`MINTABLE`], [`BURNABLE`], [`PAUSABLE`].
        pub(super) features: Slot<u8>,
    }
}

pub(super) const MINTABLE: u8 = 1;
pub(super) const BURNABLE: u8 = 1 << 1;
pub(super) const PAUSABLE: u8 = 1 << 2;

/// `keccak256("MINTER_ROLE")`
pub(super) const MINTER_ROLE: B256 = b256!("9f2df0fed2c77648de5860a4cc508cd0818c85b8b8a1ab4ceeef8d981c8956a6");

/// `keccak256("PAUSER_ROLE")`
pub(super) const PAUSER_ROLE: B256 = b256!("65d7a28e3265b37a6474929f336521b332c1681b933f6cb9f3376673440d862a");

/// `keccak256("URI_SETTER_ROLE")`
pub(super) const URI_SETTER_ROLE: B256 = b256!("7804d923f43a17d325d77e781528e0793b2edd9890ab45fc64efd7b4b427744c");

pub(super) const TOKEN: TokenStorage = TokenStorage::STATE;
pub(super) const FIXED: TokenImmutables = TokenImmutables::STATE;

pub(super) fn balance_of(host: &mut Host<'_>, account: Address, id: U256) -> Result<U256, Stop> {
    TOKEN.balances.at(host, id)?.get(host, account)
}

pub(super) fn balance_of_batch(host: &mut Host<'_>, accounts: &[Address], ids: &[U256]) -> Result<Vec<U256>, Stop> {
    require_equal_lengths(ids.len(), accounts.len())?;
    accounts.iter().zip(ids).map(|(account, id)| balance_of(host, *account, *id)).collect()
}

pub(super) fn is_approved_for_all(host: &mut Host<'_>, account: Address, operator: Address) -> Result<bool, Stop> {
    TOKEN.operator_approvals.at(host, account)?.get(host, operator)
}

pub(super) fn set_approval_for_all(host: &mut Host<'_>, operator: Address, approved: bool) -> Result<(), Stop> {
    let account = host.caller();
    require(!account.is_zero(), sol::ERC1155InvalidApprover { approver: account })?;
    require(!operator.is_zero(), sol::ERC1155InvalidOperator { operator })?;
    TOKEN.operator_approvals.at(host, account)?.set(host, operator, approved)?;
    host.emit(&sol::ApprovalForAll { account, operator, approved })
}

pub(super) fn safe_transfer_from(host: &mut Host<'_>, call: sol::safeTransferFromCall) -> Result<(), Stop> {
    let sol::safeTransferFromCall { from, to, id, value, data } = call;
    check_authorized(host, from)?;
    check_parties(from, to)?;
    update(host, from, to, &[id], &[value])?;
    check_received(host, from, to, id, value, data)
}

pub(super) fn safe_batch_transfer_from(host: &mut Host<'_>, call: sol::safeBatchTransferFromCall) -> Result<(), Stop> {
    let sol::safeBatchTransferFromCall { from, to, ids, values, data } = call;
    check_authorized(host, from)?;
    check_parties(from, to)?;
    update(host, from, to, &ids, &values)?;
    check_batch_received(host, from, to, ids, values, data)
}

/// Returns the URI, whose bytes are UTF-8 unless whoever set it chose others.
pub(super) fn uri(host: &mut Host<'_>) -> Result<Bytes, Stop> {
    host.load_bytes(TOKEN.uri.slot()).map(Into::into)
}

pub(super) fn set_uri(host: &mut Host<'_>, uri: &[u8]) -> Result<(), Stop> {
    TOKEN.roles.only_role(host, URI_SETTER_ROLE)?;
    host.store_bytes(TOKEN.uri.slot(), uri)
}

pub(super) fn exists(host: &mut Host<'_>, id: U256) -> Result<bool, Stop> {
    Ok(!TOKEN.total_supply.get(host, id)?.is_zero())
}

pub(super) fn mint(host: &mut Host<'_>, call: sol::mintCall) -> Result<(), Stop> {
    let sol::mintCall { account, id, amount, data } = call;
    require_feature(host, MINTABLE)?;
    TOKEN.roles.only_role(host, MINTER_ROLE)?;
    mint_to(host, account, id, amount, data)
}

/// Makes new tokens of an id (`_mint`).
pub(super) fn mint_to(host: &mut Host<'_>, account: Address, id: U256, amount: U256, data: Bytes) -> Result<(), Stop> {
    check_receiver(account)?;
    update(host, Address::ZERO, account, &[id], &[amount])?;
    check_received(host, Address::ZERO, account, id, amount, data)
}

pub(super) fn mint_batch(host: &mut Host<'_>, call: sol::mintBatchCall) -> Result<(), Stop> {
    let sol::mintBatchCall { to, ids, amounts, data } = call;
    require_feature(host, MINTABLE)?;
    TOKEN.roles.only_role(host, MINTER_ROLE)?;
    check_receiver(to)?;
    update(host, Address::ZERO, to, &ids, &amounts)?;
    check_batch_received(host, Address::ZERO, to, ids, amounts, data)
}

pub(super) fn burn(host: &mut Host<'_>, account: Address, id: U256, value: U256) -> Result<(), Stop> {
    burn_batch(host, account, &[id], &[value])
}

pub(super) fn burn_batch(host: &mut Host<'_>, account: Address, ids: &[U256], values: &[U256]) -> Result<(), Stop> {
    require_feature(host, BURNABLE)?;
    check_authorized(host, account)?;
    check_sender(account)?;
    update(host, account, Address::ZERO, ids, values)
}

pub(super) fn paused(host: &mut Host<'_>) -> Result<bool, Stop> {
    require_feature(host, PAUSABLE)?;
    TOKEN.pausable.paused.get(host)
}

pub(super) fn pause(host: &mut Host<'_>) -> Result<(), Stop> {
    require_feature(host, PAUSABLE)?;
    TOKEN.roles.only_role(host, PAUSER_ROLE)?;
    TOKEN.pausable.pause(host)
}

pub(super) fn unpause(host: &mut Host<'_>) -> Result<(), Stop> {
    require_feature(host, PAUSABLE)?;
    TOKEN.roles.only_role(host, PAUSER_ROLE)?;
    TOKEN.pausable.unpause(host)
}

/// Returns the id of a role that a feature has.
pub(super) fn role_of(host: &mut Host<'_>, feature: u8, role: B256) -> Result<B256, Stop> {
    require_feature(host, feature)?;
    Ok(role)
}

pub(super) fn set_default_royalty(host: &mut Host<'_>, call: &sol::setDefaultRoyaltyCall) -> Result<(), Stop> {
    TOKEN.roles.only_role(host, DEFAULT_ADMIN_ROLE)?;
    TOKEN.royalty.set_default_royalty(host, call.receiver, call.feeNumerator)
}

pub(super) fn set_token_royalty(host: &mut Host<'_>, call: &sol::setTokenRoyaltyCall) -> Result<(), Stop> {
    TOKEN.roles.only_role(host, DEFAULT_ADMIN_ROLE)?;
    TOKEN.royalty.set_token_royalty(host, call.tokenId, call.receiver, call.feeNumerator)
}

/// Moves tokens and counts the supplies; the zero address stands for minting and burning (`_update`).
fn update(host: &mut Host<'_>, from: Address, to: Address, ids: &[U256], values: &[U256]) -> Result<(), Stop> {
    TOKEN.pausable.when_not_paused(host)?;
    require_equal_lengths(ids.len(), values.len())?;
    for (&id, &value) in ids.iter().zip(values) {
        let balances = TOKEN.balances.at(host, id)?;
        if !from.is_zero() {
            balances.at(host, from)?.update(host, |balance| {
                let error =
                    || revert(&sol::ERC1155InsufficientBalance { sender: from, balance, needed: value, tokenId: id });
                balance.checked_sub(value).ok_or_else(error)
            })?;
        }
        if !to.is_zero() {
            balances.at(host, to)?.add(host, value)?;
        }
    }
    emit_transfer(host, from, to, ids, values)?;
    if from.is_zero() {
        raise_supplies(host, ids, values)?;
    }
    if to.is_zero() { lower_supplies(host, ids, values) } else { Ok(()) }
}

fn emit_transfer(host: &mut Host<'_>, from: Address, to: Address, ids: &[U256], values: &[U256]) -> Result<(), Stop> {
    let operator = host.caller();
    match (ids, values) {
        (&[id], &[value]) => host.emit(&sol::TransferSingle { operator, from, to, id, value }),
        _ => host.emit(&sol::TransferBatch { operator, from, to, ids: ids.to_vec(), values: values.to_vec() }),
    }
}

fn raise_supplies(host: &mut Host<'_>, ids: &[U256], values: &[U256]) -> Result<(), Stop> {
    let mut minted = U256::ZERO;
    for (&id, &value) in ids.iter().zip(values) {
        TOKEN.total_supply.at(host, id)?.add(host, value)?;
        minted = minted.add(value)?;
    }
    TOKEN.total_supply_all.add(host, minted)
}

fn lower_supplies(host: &mut Host<'_>, ids: &[U256], values: &[U256]) -> Result<(), Stop> {
    let mut burnt = U256::ZERO;
    // No balance is above its id's supply, and no sum of them above that of all ids.
    for (&id, &value) in ids.iter().zip(values) {
        TOKEN.total_supply.at(host, id)?.update(host, |supply| Ok(supply.wrapping_sub(value)))?;
        burnt = burnt.wrapping_add(value);
    }
    TOKEN.total_supply_all.update(host, |supply| Ok(supply.wrapping_sub(burnt)))
}

/// Asks a receiving contract whether it accepts tokens of one id.
fn check_received(
    host: &mut Host<'_>,
    from: Address,
    to: Address,
    id: U256,
    value: U256,
    data: Bytes,
) -> Result<(), Stop> {
    let operator = host.caller();
    receivers::check_on_erc1155_received(host, operator, from, to, id, value, data)
}

/// Asks a receiving contract whether it accepts the tokens of a list, also of one id.
fn check_batch_received(
    host: &mut Host<'_>,
    from: Address,
    to: Address,
    ids: Vec<U256>,
    values: Vec<U256>,
    data: Bytes,
) -> Result<(), Stop> {
    let operator = host.caller();
    receivers::check_on_erc1155_batch_received(host, operator, from, to, ids, values, data)
}

/// Refuses callers who may not move an account's tokens.
fn check_authorized(host: &mut Host<'_>, owner: Address) -> Result<(), Stop> {
    let operator = host.caller();
    let is_authorized = owner == operator || is_approved_for_all(host, owner, operator)?;
    require(is_authorized, sol::ERC1155MissingApprovalForAll { operator, owner })
}

fn check_parties(from: Address, to: Address) -> Result<(), Stop> {
    check_receiver(to)?;
    check_sender(from)
}

fn check_receiver(receiver: Address) -> Result<(), Stop> {
    require(!receiver.is_zero(), sol::ERC1155InvalidReceiver { receiver })
}

fn check_sender(sender: Address) -> Result<(), Stop> {
    require(!sender.is_zero(), sol::ERC1155InvalidSender { sender })
}

fn require_equal_lengths(ids: usize, values: usize) -> Result<(), Stop> {
    let error = sol::ERC1155InvalidArrayLength { idsLength: U256::from(ids), valuesLength: U256::from(values) };
    require(ids == values, error)
}

/// Refuses a function that the token has not, as a contract without it does.
fn require_feature(host: &mut Host<'_>, feature: u8) -> Result<(), Stop> {
    if FIXED.features.get(host)? & feature == 0 { Err(empty_revert()) } else { Ok(()) }
}

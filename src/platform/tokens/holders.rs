//! Who has how many of a token: what its transfers add up to. The templates tell every change of a balance by an event.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, SolEvent};

use super::{
    Tokens,
    details::{TokenDetails, TokenStandard},
};
use crate::{
    chain::{CallRequest, LocatedLog, LogFilter, StateOverrides},
    node::{BlockRef, Located, QueryError},
    platform::{Blockchain, PlatformError, deployment::DeploymentRecord},
    primitives::{Height, Timestamp},
    templates::{erc20::interface as erc20, erc721::interface as erc721, erc1155::interface as erc1155},
};

/// Transfers of one token that are looked at, at most.
const TRANSFERS_MAX: usize = 100_000;

/// Tokens that went from one account to another; the zero address makes and destroys them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenTransfer {
    /// Whose they were.
    pub from: Address,
    /// Whose they are.
    pub to: Address,
    /// Id of the token; `None` of a fungible one.
    pub token_id: Option<U256>,
    /// How many, in the smallest unit.
    pub amount: U256,
    /// Height of the block.
    pub height: Height,
    /// Time of the block.
    pub timestamp: Timestamp,
    /// Hash of the transaction.
    pub transaction_hash: B256,
    /// Index of the event among the block's.
    pub log_index: u32,
}

/// What an account has of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The account.
    pub address: Address,
    /// Id of the token, of an ERC-1155 contract; `None` of the others.
    pub token_id: Option<U256>,
    /// How many, in the smallest unit; of an ERC-721 token how many ids.
    pub balance: U256,
}

impl Tokens<'_> {
    /// Returns the transfers of a token up to the head, in order.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] when it has more than 100,000, [`PlatformError::Internal`] when the chain can't be read.
    pub fn transfers(&self, chain: &Blockchain, token: &DeploymentRecord) -> Result<Vec<TokenTransfer>, PlatformError> {
        let view = chain.node().view();
        let (Some(TokenDetails { standard, .. }), Some(Located::Mined { block, .. })) =
            (&token.token, view.transaction(token.transaction_hash).map_err(PlatformError::from_query)?)
        else {
            return Ok(Vec::new());
        };
        let filter = LogFilter { from: block.height(), to: view.head().height(), ..LogFilter::default() }
            .with_addresses(vec![token.contract_address(chain)?])
            .with_topics(vec![signatures(*standard)]);
        let logs = view.logs(&filter, TRANSFERS_MAX).map_err(|cause| match cause {
            QueryError::TooManyResults { max } => {
                let message = format!("the token has more than {max} transfers: read its events by ranges of blocks");
                PlatformError::Conflict { message }
            }
            other => PlatformError::from_query(other),
        })?;
        Ok(logs.iter().flat_map(|log| decode(*standard, log)).collect())
    }

    /// Returns who has a token at the head, by address and id.
    ///
    /// # Errors
    /// As [`Tokens::transfers`].
    pub fn holders(&self, chain: &Blockchain, token: &DeploymentRecord) -> Result<Vec<Holder>, PlatformError> {
        let by_id = token.token.as_ref().is_some_and(|token| token.standard == TokenStandard::Erc1155);
        let mut balances: BTreeMap<(Address, Option<U256>), U256> = BTreeMap::new();
        for TokenTransfer { from, to, token_id, amount, .. } in self.transfers(chain, token)? {
            let token_id = token_id.filter(|_| by_id);
            let paid = balances.entry((from, token_id)).or_default();
            *paid = paid.saturating_sub(amount);
            let got = balances.entry((to, token_id)).or_default();
            *got = got.saturating_add(amount);
        }
        let holders = balances.into_iter().filter(|((address, _), balance)| !address.is_zero() && !balance.is_zero());
        Ok(holders.map(|((address, token_id), balance)| Holder { address, token_id, balance }).collect())
    }
}

/// Returns the supply of a contract at the head; `None` where there is no such contract.
pub(super) fn supply(chain: &Blockchain, contract: Address) -> Result<Option<U256>, PlatformError> {
    let request = CallRequest::call(contract, Bytes::from(erc20::totalSupplyCall {}.abi_encode()));
    let view = chain.node().view();
    let outcome = view.call(&request, BlockRef::Latest, &StateOverrides::default(), None);
    let outcome = outcome.map_err(PlatformError::from_query)?;
    Ok(outcome.success_output().and_then(|output| erc20::totalSupplyCall::abi_decode_returns(output).ok()))
}

/// Hashes of the events by which the contracts of a standard tell transfers.
fn signatures(standard: TokenStandard) -> Vec<B256> {
    match standard {
        TokenStandard::Erc1155 => {
            vec![erc1155::TransferSingle::SIGNATURE_HASH, erc1155::TransferBatch::SIGNATURE_HASH]
        }
        TokenStandard::Erc20 | TokenStandard::Erc721 | TokenStandard::Erc4626 => {
            vec![erc20::Transfer::SIGNATURE_HASH]
        }
    }
}

/// Returns the transfers that an event tells: one, or several of a batch.
fn decode(standard: TokenStandard, located: &LocatedLog) -> Vec<TokenTransfer> {
    let transfer = |from, to, token_id, amount| TokenTransfer {
        from,
        to,
        token_id,
        amount,
        height: located.height,
        timestamp: located.timestamp,
        transaction_hash: located.transaction_hash,
        log_index: located.log_index,
    };
    let data = &located.log.data;
    match standard {
        TokenStandard::Erc20 | TokenStandard::Erc4626 => {
            let event = erc20::Transfer::decode_log_data(data);
            event.map(|it| transfer(it.from, it.to, None, it.value)).into_iter().collect()
        }
        TokenStandard::Erc721 => {
            let event = erc721::Transfer::decode_log_data(data);
            event.map(|it| transfer(it.from, it.to, Some(it.tokenId), U256::ONE)).into_iter().collect()
        }
        TokenStandard::Erc1155 => match erc1155::TransferSingle::decode_log_data(data) {
            Ok(it) => vec![transfer(it.from, it.to, Some(it.id), it.value)],
            Err(_) => match erc1155::TransferBatch::decode_log_data(data) {
                Ok(it) => {
                    let each = it.ids.iter().zip(&it.values);
                    each.map(|(id, value)| transfer(it.from, it.to, Some(*id), *value)).collect()
                }
                Err(_) => Vec::new(),
            },
        },
    }
}

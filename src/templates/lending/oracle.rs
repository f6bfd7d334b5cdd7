//! Prices of Chainlink's feeds, and what they make of amounts.

use super::{
    errors::{NOT_CONTRACT, check},
    interface::{
        LendingInvalidPrice, LendingStalePrice,
        feed::AggregatorV3Interface::{decimalsCall, latestRoundDataCall},
    },
    math::unit,
    state::{Asset, FIXED},
};
use crate::{templates::common::external, vm::contract::*};

/// Prices of a whole token each, in the base currency's smallest unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    pub(super) collateral: U256,
    pub(super) token: U256,
}

impl Prices {
    /// Asks the feeds.
    ///
    /// # Errors
    /// As [`price_of`].
    pub(super) fn load(host: &mut Host<'_>) -> Result<Self, Stop> {
        Ok(Self { collateral: price_of(host, Asset::Collateral)?, token: price_of(host, Asset::Token)? })
    }
}

/// Returns the price of an asset in the base currency; that of a token without a feed is one.
///
/// # Errors
/// [`LendingInvalidPrice`] for an answer that is not positive, [`LendingStalePrice`] for one that is too old or of the future; what the feed
/// reverts with; a revert without data when it answers something else; [`Stop`].
pub(super) fn price_of(host: &mut Host<'_>, asset: Asset) -> Result<U256, Stop> {
    let terms = FIXED.oracle.get(host)?;
    let feed = match asset {
        Asset::Collateral => terms.feed,
        Asset::Token => FIXED.token_oracle.get(host)?,
    };
    if feed.is_zero() {
        return unit(terms.decimals);
    }
    let round = external::view(host, feed, &latestRoundDataCall {})?;
    let answer = round.answer;
    require(answer.is_positive(), LendingInvalidPrice { oracle: feed, answer })?;
    let (now, max_age) = (U256::from(host.block().timestamp.as_secs()), U256::from(terms.max_price_age));
    let age = now.checked_sub(round.updatedAt);
    let stale = LendingStalePrice { oracle: feed, updatedAt: round.updatedAt, maxAge: max_age };
    require(age.is_some_and(|age| age <= max_age), stale)?;
    Ok(answer.into_raw())
}

/// Returns the decimals of a feed's answers.
///
/// # Errors
/// `NOT_CONTRACT` when it does not tell them; [`Stop`].
pub(super) fn decimals_of(host: &mut Host<'_>, feed: Address) -> Result<u8, Stop> {
    let answer = host.static_call(feed, &decimalsCall {}.abi_encode())?;
    let decimals = decimalsCall::abi_decode_returns_validate(&answer.output);
    check(answer.is_success() && decimals.is_ok(), NOT_CONTRACT)?;
    Ok(decimals.unwrap_or_default())
}

/// Returns the source of an asset's prices; the zero address without one.
pub(super) fn source_of(host: &mut Host<'_>, asset: Asset) -> Result<Address, Stop> {
    match asset {
        Asset::Collateral => Ok(FIXED.oracle.get(host)?.feed),
        Asset::Token => FIXED.token_oracle.get(host),
    }
}

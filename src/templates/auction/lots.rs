//! Lots: tokens that the auction holds from its making until they are sold or given back.

use super::{
    interface as sol,
    state::{Entry, HOUSE, Standing, Terms, now},
};
use crate::{
    primitives::Gas,
    templates::common::{Nft, receivers::accepted},
    vm::contract::*,
};

/// Gas for tokens that are sent to who did not ask for them at that moment; who needs more claims them.
pub const DELIVERY_GAS: Gas = Gas::new(1_000_000);

pub(super) fn create_english(host: &mut Host<'_>, params: &sol::EnglishParameters) -> Result<U256, Stop> {
    let nft = Nft::of(host, params.assetContract, params.tokenId)?;
    let terms = Terms {
        creator: host.caller(),
        start: start_of(host, params.startTimestamp),
        token_type: nft.token_type,
        fee: HOUSE.settings.fee_info.get(host)?.fee,
        collection: nft.collection,
        first_end: params.endTimestamp,
        is_dutch: false,
        currency: params.currency,
        time_extension: params.timeExtension,
        min_increment: params.minIncrement,
        token_id: nft.token_id,
        quantity: params.quantity,
        start_price: params.reservePrice,
        reserve_price: params.reservePrice,
    };
    create(host, terms)
}

pub(super) fn create_dutch(host: &mut Host<'_>, params: &sol::DutchParameters) -> Result<U256, Stop> {
    let (start_price, reserve_price) = (params.startPrice, params.reservePrice);
    let rising = sol::InvalidPrice { startPrice: start_price, reservePrice: reserve_price };
    require(start_price >= reserve_price, rising)?;
    let nft = Nft::of(host, params.assetContract, params.tokenId)?;
    let terms = Terms {
        creator: host.caller(),
        start: start_of(host, params.startTimestamp),
        token_type: nft.token_type,
        fee: HOUSE.settings.fee_info.get(host)?.fee,
        collection: nft.collection,
        first_end: params.endTimestamp,
        is_dutch: true,
        currency: params.currency,
        time_extension: 0,
        min_increment: 0,
        token_id: nft.token_id,
        quantity: params.quantity,
        start_price,
        reserve_price,
    };
    create(host, terms)
}

fn start_of(host: &Host<'_>, timestamp: u64) -> u64 {
    if timestamp == 0 { now(host) } else { timestamp }
}

/// Makes an auction and takes its tokens.
fn create(host: &mut Host<'_>, terms: Terms) -> Result<U256, Stop> {
    HOUSE.settings.check_currency(host, terms.currency)?;
    let nft = terms.nft();
    nft.check_quantity(terms.quantity)?;
    let (start, end) = (terms.start, terms.first_end);
    let time = sol::InvalidTime { startTimestamp: start, endTimestamp: end };
    require(end > start && end > now(host), time)?;
    terms.sale(terms.reserve_price).proceeds(host)?;
    nft.check_held_and_approved(host, terms.creator, terms.quantity)?;
    let id = HOUSE.auction_count.get(host)?;
    HOUSE.auction_count.set(host, id.add(U256::ONE)?)?;
    let standing = Standing { bidder: Address::ZERO, end, is_settled: false, is_cancelled: false, bid: U256::ZERO };
    let entry = Entry { id, lot: HOUSE.auctions.at(host, id)?, terms, standing };
    entry.lot.terms.set(host, terms)?;
    entry.lot.standing.set(host, standing)?;
    nft.take(host, terms.creator, terms.quantity)?;
    let (creator, collection, auction) = (terms.creator, terms.collection, entry.auction());
    host.emit(&sol::NewAuction { auctionCreator: creator, auctionId: id, assetContract: collection, auction })?;
    Ok(id)
}

/// Gives the tokens of an auction without a bid back to its creator.
pub(super) fn cancel(host: &mut Host<'_>, id: U256) -> Result<(), Stop> {
    let (entry, account) = (Entry::open(host, id)?, host.caller());
    let Entry { terms, standing, .. } = entry;
    require(terms.creator == account, sol::AuctionUnauthorizedAccount { auctionId: id, account })?;
    let has_bid = sol::AuctionHasBid { auctionId: id, highestBidder: standing.bidder };
    require(standing.bidder.is_zero(), has_bid)?;
    entry.lot.standing.set(host, Standing { is_cancelled: true, ..standing })?;
    host.emit(&sol::CancelledAuction { auctionCreator: account, auctionId: id })?;
    deliver(host, &entry, account)
}

/// Sends the tokens of an auction that is over, or keeps them for who does not take them.
pub(super) fn deliver(host: &mut Host<'_>, entry: &Entry, to: Address) -> Result<(), Stop> {
    if entry.terms.nft().try_transfer(host, to, entry.terms.quantity, DELIVERY_GAS)? {
        return Ok(());
    }
    entry.lot.claimant.overwrite(host, to)?;
    host.emit(&sol::TokenUndelivered { auctionId: entry.id, claimant: to })
}

/// Sends tokens that wait for the caller to an account of its choice.
pub(super) fn claim(host: &mut Host<'_>, id: U256, to: Address) -> Result<(), Stop> {
    let (entry, account) = (Entry::read(host, id)?, host.caller());
    let claimant = entry.lot.claimant.get(host)?;
    let nothing = sol::NothingToClaim { auctionId: id, account };
    require(claimant == account && !claimant.is_zero(), nothing)?;
    let own = host.address();
    require(to != own, sol::InvalidRecipient { recipient: to })?;
    entry.lot.claimant.overwrite(host, Address::ZERO)?;
    host.emit(&sol::TokenClaimed { auctionId: id, claimant, to })?;
    entry.terms.nft().transfer(host, own, to, entry.terms.quantity)
}

/// Accepts tokens of ERC-1155 that the auction itself takes.
pub(super) fn receive(host: &mut Host<'_>, call: &sol::onERC1155ReceivedCall) -> Result<FixedBytes<4>, Stop> {
    let (collection, operator) = (host.caller(), call.operator);
    require(operator == host.address(), sol::UnsolicitedToken { assetContract: collection, operator })?;
    Ok(accepted(call))
}

/// Refuses tokens of several ids, which the auction never takes.
pub(super) fn receive_batch(host: &Host<'_>, operator: Address) -> Result<FixedBytes<4>, Stop> {
    Err(revert(&sol::UnsolicitedToken { assetContract: host.caller(), operator }))
}

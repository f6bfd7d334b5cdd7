//! Listings: tokens that stay with their seller, who lets the marketplace move them, until somebody pays the price.

use super::{
    interface as sol,
    state::{Entry, MARKET, Terms, end_of, next_id, pay},
};
use crate::{
    templates::common::{Currency, Nft, page::page},
    vm::contract::*,
};

pub(super) fn create(host: &mut Host<'_>, params: &sol::ListingParameters) -> Result<U256, Stop> {
    let (maker, now) = (host.caller(), host.block().timestamp.as_secs());
    MARKET.settings.check_currency(host, params.currency)?;
    let nft = Nft::of(host, params.assetContract, params.tokenId)?;
    nft.check_quantity(params.quantity)?;
    let terms = Terms {
        maker,
        start: if params.startTimestamp == 0 { now } else { params.startTimestamp },
        token_type: nft.token_type,
        fee: MARKET.settings.fee_info.get(host)?.fee,
        collection: nft.collection,
        end: end_of(params.endTimestamp),
        currency: params.currency,
        token_id: nft.token_id,
        price: params.pricePerToken,
        reserved_for: params.reservedFor,
    };
    terms.check_time(now)?;
    let price = terms.total(params.quantity)?;
    terms.proceeds(host, price)?;
    nft.check_held_and_approved(host, maker, params.quantity)?;
    let id = next_id(host, MARKET.listing_count)?;
    let entry = Entry { order: MARKET.listings.at(host, id)?, terms, quantity: params.quantity };
    entry.write(host)?;
    let listing = entry.listing(host, id)?;
    host.emit(&sol::NewListing { listingCreator: maker, listingId: id, assetContract: nft.collection, listing })?;
    Ok(id)
}

/// Changes the price and the end of what is left of a listing.
pub(super) fn update(host: &mut Host<'_>, call: &sol::updateListingCall) -> Result<(), Stop> {
    let sol::updateListingCall { listingId, currency, pricePerToken, endTimestamp } = *call;
    let entry = own(host, listingId)?;
    MARKET.settings.check_currency(host, currency)?;
    let terms = Terms { currency, price: pricePerToken, end: end_of(endTimestamp), ..entry.terms };
    terms.check_time(host.block().timestamp.as_secs())?;
    let price = terms.total(entry.quantity)?;
    terms.proceeds(host, price)?;
    entry.order.terms.set(host, terms)?;
    host.emit(&sol::UpdatedListing { listingCreator: terms.maker, listingId, currency, pricePerToken, endTimestamp })
}

pub(super) fn cancel(host: &mut Host<'_>, id: U256) -> Result<(), Stop> {
    let entry = own(host, id)?;
    entry.cancel(host)?;
    host.emit(&sol::CancelledListing { listingCreator: entry.terms.maker, listingId: id })
}

/// Sells a part of a listing, or all of it.
pub(super) fn buy(host: &mut Host<'_>, call: &sol::buyFromListingCall) -> Result<(), Stop> {
    let sol::buyFromListingCall { listingId, buyFor, quantity, currency, expectedTotalPrice } = *call;
    let buyer = host.caller();
    let entry = open(host, listingId)?;
    let terms = entry.terms;
    check_time(host, listingId, &terms)?;
    let reserved = sol::ListingReserved { listingId, buyer, reservedFor: terms.reserved_for };
    require(terms.reserved_for.is_zero() || terms.reserved_for == buyer, reserved)?;
    entry.take(host, quantity)?;
    let price = terms.total(quantity)?;
    let unexpected = sol::UnexpectedPrice {
        currency: terms.currency,
        totalPrice: price,
        expectedCurrency: currency,
        expectedTotalPrice,
    };
    require((terms.currency, price) == (currency, expectedTotalPrice), unexpected)?;
    Currency::of(currency).check_value(host, price)?;
    terms.nft().check_held_and_approved(host, terms.maker, quantity)?;
    let proceeds = terms.proceeds(host, price)?;
    pay(host, &proceeds, currency, buyer, terms.maker)?;
    terms.nft().transfer(host, terms.maker, buyFor, quantity)?;
    host.emit(&sol::NewSale {
        listingCreator: terms.maker,
        listingId,
        assetContract: terms.collection,
        tokenId: terms.token_id,
        buyer,
        quantityBought: quantity,
        totalPricePaid: price,
        fee: proceeds.fee,
        royaltyReceiver: proceeds.royalty_receiver,
        royalty: proceeds.royalty,
    })
}

pub(super) fn get(host: &mut Host<'_>, id: U256) -> Result<sol::Listing, Stop> {
    find(host, id)?.listing(host, id)
}

pub(super) fn list(host: &mut Host<'_>, call: &sol::getListingsCall) -> Result<Vec<sol::Listing>, Stop> {
    let count = MARKET.listing_count.get(host)?;
    page(count, call.from, call.count).map(|id| get(host, id)).collect()
}

/// Returns whether it can be bought now, by whom it is for: all that is left.
pub(super) fn is_valid(host: &mut Host<'_>, id: U256) -> Result<bool, Stop> {
    let entry = find(host, id)?;
    if !entry.is_open() || check_time(host, id, &entry.terms).is_err() {
        return Ok(false);
    }
    let (nft, seller) = (entry.terms.nft(), entry.terms.maker);
    Ok(nft.is_held(host, seller, entry.quantity)? && nft.is_approved(host, seller)?)
}

fn find(host: &mut Host<'_>, id: U256) -> Result<Entry, Stop> {
    let order = MARKET.listings.at(host, id)?;
    Entry::read(host, order)
}

/// Returns a listing that is open.
fn open(host: &mut Host<'_>, id: U256) -> Result<Entry, Stop> {
    let entry = find(host, id)?;
    if entry.is_open() {
        return Ok(entry);
    }
    let status = entry.status(host)?;
    Err(revert(&sol::ListingNotOpen { listingId: id, status }))
}

/// Returns an open listing of the caller.
fn own(host: &mut Host<'_>, id: U256) -> Result<Entry, Stop> {
    let (entry, account) = (open(host, id)?, host.caller());
    require(entry.terms.maker == account, sol::ListingUnauthorizedAccount { listingId: id, account })?;
    Ok(entry)
}

fn check_time(host: &Host<'_>, id: U256, terms: &Terms) -> Result<(), Stop> {
    let now = host.block().timestamp.as_secs();
    require(terms.start <= now, sol::ListingNotStarted { listingId: id, startTimestamp: terms.start })?;
    require(now < terms.end, sol::ListingExpired { listingId: id, endTimestamp: terms.end })
}

//! Offers: prices for tokens, which whoever has the tokens accepts. One in the native token is paid when it is made, one in an ERC-20 token
//! is approved.

use super::{
    interface as sol,
    state::{Entry, MARKET, Terms, end_of, next_id, pay},
};
use crate::{
    templates::common::{Currency, Nft, page::page},
    vm::contract::*,
};

pub(super) fn make(host: &mut Host<'_>, params: &sol::OfferParameters) -> Result<U256, Stop> {
    let (maker, now) = (host.caller(), host.block().timestamp.as_secs());
    MARKET.settings.check_currency(host, params.currency)?;
    let nft = Nft::of(host, params.assetContract, params.tokenId)?;
    nft.check_quantity(params.quantity)?;
    let terms = Terms {
        maker,
        start: now,
        token_type: nft.token_type,
        fee: MARKET.settings.fee_info.get(host)?.fee,
        collection: nft.collection,
        end: end_of(params.expirationTimestamp),
        currency: params.currency,
        token_id: nft.token_id,
        price: params.pricePerToken,
        reserved_for: Address::ZERO,
    };
    terms.check_time(now)?;
    let price = terms.total(params.quantity)?;
    Currency::of(params.currency).check_value(host, price)?;
    let id = next_id(host, MARKET.offer_count)?;
    let entry = Entry { order: MARKET.offers.at(host, id)?, terms, quantity: params.quantity };
    entry.write(host)?;
    let offer = entry.offer(host, id)?;
    host.emit(&sol::NewOffer { offeror: maker, offerId: id, assetContract: nft.collection, offer })?;
    Ok(id)
}

/// Cancels what is left of an offer; what was paid for it waits for its offeror.
pub(super) fn cancel(host: &mut Host<'_>, id: U256) -> Result<(), Stop> {
    let (entry, account) = (open(host, id)?, host.caller());
    let terms = entry.terms;
    require(terms.maker == account, sol::OfferUnauthorizedAccount { offerId: id, account })?;
    entry.cancel(host)?;
    host.emit(&sol::CancelledOffer { offeror: terms.maker, offerId: id })?;
    let paid = terms.total(entry.quantity)?;
    if Currency::of(terms.currency) != Currency::Native || paid.is_zero() {
        return Ok(());
    }
    MARKET.withdrawals.credit(host, terms.maker, Currency::Native, paid)
}

/// Sells tokens of the caller to an offeror: as many as it offers for, or fewer.
pub(super) fn accept(host: &mut Host<'_>, id: U256, quantity: U256) -> Result<(), Stop> {
    let seller = host.caller();
    let entry = open(host, id)?;
    let terms = entry.terms;
    let is_in_time = host.block().timestamp.as_secs() < terms.end;
    require(is_in_time, sol::OfferExpired { offerId: id, expirationTimestamp: terms.end })?;
    entry.take(host, quantity)?;
    terms.nft().check_held_and_approved(host, seller, quantity)?;
    let price = terms.total(quantity)?;
    let proceeds = terms.proceeds(host, price)?;
    pay(host, &proceeds, terms.currency, terms.maker, seller)?;
    terms.nft().transfer(host, seller, terms.maker, quantity)?;
    host.emit(&sol::AcceptedOffer {
        offeror: terms.maker,
        offerId: id,
        assetContract: terms.collection,
        tokenId: terms.token_id,
        seller,
        quantityBought: quantity,
        totalPricePaid: price,
        fee: proceeds.fee,
        royaltyReceiver: proceeds.royalty_receiver,
        royalty: proceeds.royalty,
    })
}

pub(super) fn get(host: &mut Host<'_>, id: U256) -> Result<sol::Offer, Stop> {
    find(host, id)?.offer(host, id)
}

pub(super) fn list(host: &mut Host<'_>, call: &sol::getOffersCall) -> Result<Vec<sol::Offer>, Stop> {
    let count = MARKET.offer_count.get(host)?;
    page(count, call.from, call.count).map(|id| get(host, id)).collect()
}

fn find(host: &mut Host<'_>, id: U256) -> Result<Entry, Stop> {
    let order = MARKET.offers.at(host, id)?;
    Entry::read(host, order)
}

/// Returns an offer that is open.
fn open(host: &mut Host<'_>, id: U256) -> Result<Entry, Stop> {
    let entry = find(host, id)?;
    if entry.is_open() {
        return Ok(entry);
    }
    let status = entry.status(host)?;
    Err(revert(&sol::OfferNotOpen { offerId: id, status }))
}

//! Bids, purchases, and what becomes of the money.

use super::{
    interface as sol,
    lots::deliver,
    state::{Entry, HOUSE, Standing, now},
};
use crate::{templates::common::Currency, vm::contract::*};

/// Bids in an English auction: the auction holds the highest bid, and the one before waits for its bidder.
pub(super) fn bid(host: &mut Host<'_>, id: U256, amount: U256) -> Result<(), Stop> {
    let Entry { lot, terms, standing, .. } = Entry::running(host, id, false)?;
    let needed = terms.least_bid(&standing)?;
    require(amount >= needed, sol::BidTooLow { auctionId: id, amount, needed })?;
    let (bidder, end) = (host.caller(), terms.end_after_bid(standing.end, now(host)));
    lot.standing.set(host, Standing { bidder, end, bid: amount, ..standing })?;
    if !standing.bidder.is_zero() {
        HOUSE.withdrawals.credit(host, standing.bidder, terms.currency(), standing.bid)?;
    }
    terms.currency().collect(host, amount)?;
    host.emit(&sol::NewBid { auctionId: id, bidder, amount, endTimestamp: end })
}

/// Buys in a Dutch auction, at its price now. Ether beyond the price goes back.
pub(super) fn buy(host: &mut Host<'_>, id: U256, max_price: U256) -> Result<(), Stop> {
    let Entry { lot, terms, standing, .. } = Entry::running(host, id, true)?;
    let price = terms.price_at(now(host))?;
    require(price <= max_price, sol::PriceTooHigh { auctionId: id, price, maxPrice: max_price })?;
    let (buyer, value) = (host.caller(), host.value());
    let change = match terms.currency() {
        Currency::Native => value.checked_sub(price),
        Currency::Token(_) => Some(U256::ZERO).filter(|_| value.is_zero()),
    };
    let needed = if terms.currency() == Currency::Native { price } else { U256::ZERO };
    let change = change.ok_or_else(|| revert(&sol::IncorrectValue { value, needed }))?;
    lot.standing.set(host, Standing { bidder: buyer, is_settled: true, bid: price, ..standing })?;
    let proceeds = terms.sale(price).proceeds(host)?;
    let payees = terms.payees(host)?;
    proceeds.pay_by(host, terms.currency(), buyer, payees, HOUSE.withdrawals)?;
    HOUSE.withdrawals.pay(host, buyer, Currency::Native, change)?;
    let own = host.address();
    terms.nft().transfer(host, own, buyer, terms.quantity)?;
    host.emit(&sol::AuctionSettled {
        auctionCreator: terms.creator,
        auctionId: id,
        winner: buyer,
        price,
        fee: proceeds.fee,
        royaltyReceiver: proceeds.royalty_receiver,
        royalty: proceeds.royalty,
    })
}

/// Ends an auction whose time is over, whoever calls: sold to who has bid most, or given back.
pub(super) fn settle(host: &mut Host<'_>, id: U256) -> Result<(), Stop> {
    let entry = Entry::open(host, id)?;
    let Entry { lot, terms, standing, .. } = entry;
    require(now(host) >= standing.end, sol::AuctionNotEnded { auctionId: id, endTimestamp: standing.end })?;
    lot.standing.set(host, Standing { is_settled: true, ..standing })?;
    let mut event = sol::AuctionSettled {
        auctionCreator: terms.creator,
        auctionId: id,
        winner: standing.bidder,
        price: standing.bid,
        fee: U256::ZERO,
        royaltyReceiver: Address::ZERO,
        royalty: U256::ZERO,
    };
    if standing.bidder.is_zero() {
        host.emit(&event)?;
        return deliver(host, &entry, terms.creator);
    }
    let proceeds = terms.sale(standing.bid).proceeds_of_paid(host)?;
    let payees = terms.payees(host)?;
    proceeds.pay(host, terms.currency(), payees, HOUSE.withdrawals)?;
    event.fee = proceeds.fee;
    event.royaltyReceiver = proceeds.royalty_receiver;
    event.royalty = proceeds.royalty;
    host.emit(&event)?;
    deliver(host, &entry, standing.bidder)
}

//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Where tokens are called, their gas is included: that of `test_chain`'s plain tokens, so that other templates may change theirs.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

/// A listing or an offer of each currency and collection, and what becomes of them.
fn history(world: &mut World) -> String {
    let (art, items, coin) = (world.art, world.items, world.coin);
    let list =
        |collection, currency| sol::createListingCall { params: world.listing(collection, currency) }.abi_encode();
    let offer = |collection, currency, quantity| {
        sol::makeOfferCall { params: world.offer(collection, currency, quantity) }.abi_encode()
    };
    let id = |id: u64| U256::from(id);
    let accept =
        |offer, quantity: u64| sol::acceptOfferCall { offerId: offer, quantity: U256::from(quantity) }.abi_encode();
    let cancel = |listing| sol::cancelListingCall { listingId: listing }.abi_encode();
    let cancel_offer = |offer| sol::cancelOfferCall { offerId: offer }.abi_encode();
    let update =
        sol::updateListingCall { listingId: id(1), currency: coin, pricePerToken: id(1_000), endTimestamp: NOW + 9 };
    let late = sol::ListingParameters { endTimestamp: NOW, ..world.listing(items, coin) };
    let early = sol::ListingParameters { startTimestamp: NOW + 5, ..world.listing(items, coin) };
    let mine = sol::ListingParameters { reservedFor: OWNER, ..world.listing(items, coin) };
    let strange = sol::ListingParameters { assetContract: coin, ..world.listing(items, coin) };
    let listed = |params| sol::createListingCall { params }.abi_encode();
    let withdraw = |to| sol::withdrawCall { currency: NATIVE, to }.abi_encode();
    let set_fee = sol::setFeeCall { fee: 500, recipient: FEES }.abi_encode();
    let steps = [
        ("createListing of a token for coins", SELLER, 0, list(art, coin)),
        ("createListing of many for ether", SELLER, 0, list(items, NATIVE)),
        ("createListing too late", SELLER, 0, listed(late)),
        ("createListing of no NFT", SELLER, 0, listed(strange)),
        ("createListing of others' tokens", BUYER, 0, list(art, coin)),
        ("createListing for another currency", SELLER, 0, list(art, items)),
        ("createListing for later", SELLER, 0, listed(early)),
        ("createListing for one buyer", SELLER, 0, listed(mine)),
        ("getListing", BUYER, 0, sol::getListingCall { listingId: id(0) }.abi_encode()),
        ("getListings", BUYER, 0, sol::getListingsCall { from: id(0), count: id(9) }.abi_encode()),
        ("isListingValid", BUYER, 0, sol::isListingValidCall { listingId: id(0) }.abi_encode()),
        ("totalListings", BUYER, 0, sol::totalListingsCall {}.abi_encode()),
        ("buyFromListing for coins", BUYER, 0, buy(id(0), 1, coin).abi_encode()),
        ("buyFromListing again", BUYER, 0, buy(id(0), 1, coin).abi_encode()),
        ("buyFromListing for ether, a part", BUYER, 2_000, buy(id(1), 2, NATIVE).abi_encode()),
        ("buyFromListing with too little", BUYER, 1_999, buy(id(1), 2, NATIVE).abi_encode()),
        ("buyFromListing at another price", BUYER, 0, buy(id(1), 2, coin).abi_encode()),
        ("buyFromListing too early", BUYER, 0, buy(id(2), 2, coin).abi_encode()),
        ("buyFromListing of another's", BUYER, 0, buy(id(3), 2, coin).abi_encode()),
        ("updateListing by a stranger", BUYER, 0, update.abi_encode()),
        ("updateListing", SELLER, 0, update.abi_encode()),
        ("buyFromListing for coins, a part", BUYER, 0, buy(id(1), 2, coin).abi_encode()),
        ("cancelListing by a stranger", BUYER, 0, cancel(id(1))),
        ("cancelListing", SELLER, 0, cancel(id(1))),
        ("cancelListing again", SELLER, 0, cancel(id(1))),
        ("makeOffer of coins", SELLER, 0, offer(art, coin, 1)),
        ("makeOffer of ether", BUYER, 3_000, offer(items, NATIVE, 3)),
        ("makeOffer with too little", BUYER, 2_999, offer(items, NATIVE, 3)),
        ("getOffer", BUYER, 0, sol::getOfferCall { offerId: id(1) }.abi_encode()),
        ("getOffers", BUYER, 0, sol::getOffersCall { from: id(0), count: id(9) }.abi_encode()),
        ("totalOffers", BUYER, 0, sol::totalOffersCall {}.abi_encode()),
        ("acceptOffer of coins", BUYER, 0, accept(id(0), 1)),
        ("acceptOffer of ether, a part", SELLER, 0, accept(id(1), 1)),
        ("acceptOffer of too many", SELLER, 0, accept(id(1), 3)),
        ("acceptOffer without the token", OWNER, 0, accept(id(1), 1)),
        ("cancelOffer by a stranger", SELLER, 0, cancel_offer(id(1))),
        ("cancelOffer", BUYER, 0, cancel_offer(id(1))),
        ("cancelOffer again", BUYER, 0, cancel_offer(id(1))),
        ("pendingWithdrawals", BUYER, 0, sol::pendingWithdrawalsCall { account: BUYER, currency: NATIVE }.abi_encode()),
        ("withdraw to nobody", BUYER, 0, withdraw(Address::ZERO)),
        ("withdraw", BUYER, 0, withdraw(BUYER)),
        ("withdraw of nothing", BUYER, 0, withdraw(BUYER)),
        ("fee", BUYER, 0, sol::feeCall {}.abi_encode()),
        ("feeRecipient", BUYER, 0, sol::feeRecipientCall {}.abi_encode()),
        ("setFee by a stranger", BUYER, 0, set_fee.clone()),
        ("setFee", OWNER, 0, set_fee),
        ("setFee of too much", OWNER, 0, sol::setFeeCall { fee: 10_001, recipient: FEES }.abi_encode()),
        ("isCurrencyAccepted", BUYER, 0, sol::isCurrencyAcceptedCall { currency: coin }.abi_encode()),
        ("setCurrency by a stranger", BUYER, 0, sol::setCurrencyCall { currency: art, accepted: true }.abi_encode()),
        ("setCurrency", OWNER, 0, sol::setCurrencyCall { currency: art, accepted: true }.abi_encode()),
        ("owner", BUYER, 0, sol::ownerCall {}.abi_encode()),
        ("transferOwnership", OWNER, 0, sol::transferOwnershipCall { newOwner: SELLER }.abi_encode()),
        ("renounceOwnership by a stranger", OWNER, 0, sol::renounceOwnershipCall {}.abi_encode()),
        ("renounceOwnership", SELLER, 0, sol::renounceOwnershipCall {}.abi_encode()),
        ("supportsInterface", BUYER, 0, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
        ("value to a function", BUYER, 1, sol::feeCall {}.abi_encode()),
        ("a function that is not there", BUYER, 0, vec![1, 2, 3, 4]),
    ];
    let market = world.market;
    steps.map(|(name, from, value, input)| world.chain.line(name, from, market, value, &input)).concat()
}

/// A sale of which the creator refuses ether.
fn refused_royalty(world: &mut World) -> String {
    let (items, market) = (world.items, world.market);
    let creator = world.chain.deploy(BUYER, 0, &ActorTemplate::init_code(0));
    world.chain.ok(BUYER, creator, &actor::refuseCall { how: 1 });
    world.set_royalty(items, creator, 1_000);
    let listing = world.list(items, NATIVE);
    let input = buy(listing, 2, NATIVE).abi_encode();
    world.chain.line("buyFromListing with a royalty that is refused", BUYER, market, 2_000, &input)
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let mut chain = TestChain::new(&[OWNER]);
    let good = MarketplaceParams::new(OWNER);
    let kinds = [
        ("defaults", good.clone()),
        ("a token", MarketplaceParams { token: Some(BUYER), fee: 250, ..good.clone() }),
        ("a fee that is too high", MarketplaceParams { fee: 10_001, ..good.clone() }),
        ("nobody who gets fees", MarketplaceParams { fee_recipient: Address::ZERO, ..good }),
    ];
    let mut got = kinds.map(|(name, params)| chain.creation_line(OWNER, name, &params.init_code()).1).concat();
    got += &history(&mut World::new());
    got += &refused_royalty(&mut World::new());
    assert_golden(&got, include_str!("golden.txt"));
}

//! What can be listed, bought, changed and cancelled.

use super::*;

#[test]
fn a_token_is_sold_for_coins_and_the_price_divided() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let listing = world.list(art, coin);
    let got = world.read(&sol::getListingCall { listingId: listing });
    assert_eq!((got.listingCreator, got.status, got.fee), (SELLER, sol::Status::CREATED, 250));
    assert_eq!((got.startTimestamp, got.endTimestamp), (NOW, 0));
    assert!(world.read(&sol::isListingValidCall { listingId: listing }));
    assert_eq!(world.held(art, SELLER, 1), 1, "it stays with its seller");
    world.ok(BUYER, &buy(listing, 1, coin));
    let logs = world.chain.journal.logs();
    let sale = sol::NewSale::decode_log_data(&logs.last().unwrap().data).unwrap();
    assert_eq!((sale.buyer, sale.listingCreator, sale.royaltyReceiver), (BUYER, SELLER, CREATOR));
    assert_eq!([sale.totalPricePaid, sale.fee, sale.royalty].map(|part| part.to::<u64>()), [1_000, 25, 100]);
    assert_eq!(world.held(art, BUYER, 1), 1);
    assert_eq!([FEES, CREATOR, SELLER, BUYER].map(|who| world.coins(who)), [25, 100, COINS + 875, COINS - 1_000]);
    let status = sol::Status::COMPLETED;
    world.fails(BUYER, &buy(listing, 1, coin), &sol::ListingNotOpen { listingId: listing, status });
    assert_eq!(world.read(&sol::getListingCall { listingId: listing }).status, status);
}

#[test]
fn tokens_are_sold_for_ether_in_parts() {
    let mut world = World::new();
    let listing = world.list(world.items, NATIVE);
    world.pay(BUYER, 30_000, &buy(listing, 30, NATIVE)).unwrap();
    let to_another = sol::buyFromListingCall { buyFor: OWNER, ..buy(listing, 70, NATIVE) };
    let too_many = sol::InvalidQuantity { quantity: U256::from(71), available: U256::from(70) };
    assert_eq!(world.pay(BUYER, 71_000, &buy(listing, 71, NATIVE)).err(), Some(reason(&too_many)));
    assert_eq!(world.read(&sol::getListingCall { listingId: listing }).quantity, U256::from(70));
    world.pay(BUYER, 70_000, &to_another).unwrap();
    assert_eq!((world.held(world.items, BUYER, 1), world.held(world.items, OWNER, 1)), (30, 70));
    let got = [FEES, CREATOR, SELLER, BUYER].map(|who| world.chain.wei(who));
    assert_eq!(got, [FUNDS + 2_500, FUNDS + 10_000, FUNDS + 87_500, FUNDS - 100_000]);
    assert_eq!(world.chain.wei(world.market), 0);
}

#[test]
fn a_buyer_pays_what_it_expects_exactly() {
    let mut world = World::new();
    let (items, coin) = (world.items, world.coin);
    let listing = world.list(items, coin);
    let unexpected = |total: u64, currency, expected: u64| sol::UnexpectedPrice {
        currency: coin,
        totalPrice: U256::from(total),
        expectedCurrency: currency,
        expectedTotalPrice: U256::from(expected),
    };
    let cheap = sol::buyFromListingCall { expectedTotalPrice: U256::from(1_999), ..buy(listing, 2, coin) };
    world.fails(BUYER, &cheap, &unexpected(2_000, coin, 1_999));
    world.fails(BUYER, &buy(listing, 2, NATIVE), &unexpected(2_000, NATIVE, 2_000));
    let ether = sol::IncorrectValue { value: U256::from(5), needed: U256::ZERO };
    assert_eq!(world.pay(BUYER, 5, &buy(listing, 2, coin)).err(), Some(reason(&ether)));
    let native = world.list(items, NATIVE);
    let short = sol::IncorrectValue { value: U256::from(1_999), needed: U256::from(2_000) };
    assert_eq!(world.pay(BUYER, 1_999, &buy(native, 2, NATIVE)).err(), Some(reason(&short)));
    // The price goes up before the purchase.
    let update = |listing| sol::updateListingCall {
        listingId: listing,
        currency: coin,
        pricePerToken: U256::from(1_001),
        endTimestamp: 0,
    };
    world.ok(SELLER, &update(listing));
    world.fails(BUYER, &buy(listing, 2, coin), &unexpected(2_002, coin, 2_000));
    let dear = sol::buyFromListingCall { expectedTotalPrice: U256::from(2_002), ..buy(listing, 2, coin) };
    world.ok(BUYER, &dear);
}

#[test]
fn a_listing_has_its_time() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let params =
        |start, end| sol::ListingParameters { startTimestamp: start, endTimestamp: end, ..world.listing(art, coin) };
    let [late, backwards, good] = [params(0, NOW), params(NOW + 20, NOW + 20), params(NOW + 10, NOW + 20)];
    for params in [late, backwards] {
        let start = params.startTimestamp.max(NOW);
        let error = sol::InvalidTime { startTimestamp: start, endTimestamp: params.endTimestamp };
        world.fails(SELLER, &sol::createListingCall { params }, &error);
    }
    let listing = world.ok(SELLER, &sol::createListingCall { params: good });
    let purchase = buy(listing, 1, coin);
    world.chain.at(NOW + 9);
    world.fails(BUYER, &purchase, &sol::ListingNotStarted { listingId: listing, startTimestamp: NOW + 10 });
    assert!(!world.read(&sol::isListingValidCall { listingId: listing }));
    world.chain.at(NOW + 20);
    world.fails(BUYER, &purchase, &sol::ListingExpired { listingId: listing, endTimestamp: NOW + 20 });
    assert!(!world.read(&sol::isListingValidCall { listingId: listing }));
    world.chain.at(NOW + 19);
    world.ok(BUYER, &purchase);
}

#[test]
fn a_stale_listing_says_why() {
    let mut world = World::new();
    let (art, items, coin) = (world.art, world.items, world.coin);
    let [one, many] = [art, items].map(|collection| world.list(collection, coin));
    let not_approved =
        |collection| sol::TokenNotApproved { assetContract: collection, tokenId: U256::from(1), holder: SELLER };
    for (collection, listing) in [(art, one), (items, many)] {
        world.approve(SELLER, collection, false);
        world.fails(BUYER, &buy(listing, 1, coin), &not_approved(collection));
        assert!(!world.read(&sol::isListingValidCall { listingId: listing }));
        world.approve(SELLER, collection, true);
    }
    let give = |id: u64, value: u64| nft::safeTransferFrom_1Call {
        from: SELLER,
        to: OWNER,
        id: U256::from(id),
        value: U256::from(value),
        data: Bytes::new(),
    };
    world.chain.ok(SELLER, items, &give(1, 60));
    world.chain.ok(SELLER, art, &nft::transferFromCall { from: SELLER, to: OWNER, tokenId: U256::from(1) });
    let not_held = |collection, quantity: u64| sol::TokenNotHeld {
        assetContract: collection,
        tokenId: U256::from(1),
        holder: SELLER,
        quantity: U256::from(quantity),
    };
    world.fails(BUYER, &buy(one, 1, coin), &not_held(art, 1));
    world.fails(BUYER, &buy(many, 41, coin), &not_held(items, 41));
    assert!(!world.read(&sol::isListingValidCall { listingId: many }));
    // What is left with the seller can still be bought.
    world.ok(BUYER, &buy(many, 40, coin));
}

#[test]
fn one_token_may_be_approved_alone() {
    let mut world = World::new();
    let (art, coin, market) = (world.art, world.coin, world.market);
    world.approve(SELLER, art, false);
    world.chain.ok(SELLER, art, &nft::approveCall { to: market, tokenId: U256::from(1) });
    let listing = world.list(art, coin);
    world.ok(BUYER, &buy(listing, 1, coin));
    assert_eq!(world.held(art, BUYER, 1), 1);
}

#[test]
fn what_cannot_be_sold_is_not_listed() {
    let mut world = World::new();
    let (art, items, coin) = (world.art, world.items, world.coin);
    let good = world.listing(art, coin);
    let mut refused = |params: sol::ListingParameters, error: Bytes| {
        let got = world.chain.call(SELLER, world.market, &sol::createListingCall { params });
        assert_eq!(got, Err(error));
    };
    let none = sol::ListingParameters { quantity: U256::ZERO, ..good.clone() };
    refused(none, reason(&sol::InvalidQuantity { quantity: U256::ZERO, available: U256::from(1) }));
    let two = sol::ListingParameters { quantity: U256::from(2), ..good.clone() };
    refused(two, reason(&sol::InvalidQuantity { quantity: U256::from(2), available: U256::from(1) }));
    for other in [coin, BUYER] {
        let params = sol::ListingParameters { assetContract: other, ..good.clone() };
        refused(params, reason(&sol::UnsupportedToken { assetContract: other }));
    }
    let foreign = sol::ListingParameters { currency: items, ..good.clone() };
    refused(foreign, reason(&sol::CurrencyNotAccepted { currency: items }));
    let not_held = |collection, id: u64, quantity: u64| sol::TokenNotHeld {
        assetContract: collection,
        tokenId: U256::from(id),
        holder: SELLER,
        quantity: U256::from(quantity),
    };
    let unknown = sol::ListingParameters { tokenId: U256::from(9), ..good.clone() };
    refused(unknown, reason(&not_held(art, 9, 1)));
    let many = sol::ListingParameters { assetContract: items, quantity: U256::from(101), ..good.clone() };
    refused(many, reason(&not_held(items, 1, 101)));
    let dear =
        sol::ListingParameters { assetContract: items, quantity: U256::from(2), pricePerToken: U256::MAX, ..good };
    let overflow = crate::vm::math::overflow();
    let Stop::Revert(overflow) = overflow else { panic!("a revert") };
    refused(dear, overflow);
}

#[test]
fn only_its_creator_changes_or_cancels_a_listing() {
    let mut world = World::new();
    let (items, coin) = (world.items, world.coin);
    let listing = world.list(items, coin);
    let update = sol::updateListingCall {
        listingId: listing,
        currency: NATIVE,
        pricePerToken: U256::from(7),
        endTimestamp: NOW + 5,
    };
    let stranger = sol::ListingUnauthorizedAccount { listingId: listing, account: BUYER };
    world.fails(BUYER, &update, &stranger);
    world.fails(BUYER, &sol::cancelListingCall { listingId: listing }, &stranger);
    let past = sol::updateListingCall { endTimestamp: NOW, ..update.clone() };
    world.fails(SELLER, &past, &sol::InvalidTime { startTimestamp: NOW, endTimestamp: NOW });
    world.ok(SELLER, &update);
    let got = world.read(&sol::getListingCall { listingId: listing });
    assert_eq!((got.currency, got.pricePerToken, got.endTimestamp), (NATIVE, U256::from(7), NOW + 5));
    // It may be cancelled late.
    world.chain.at(NOW + 100);
    world.ok(SELLER, &sol::cancelListingCall { listingId: listing });
    let cancelled = sol::ListingNotOpen { listingId: listing, status: sol::Status::CANCELLED };
    world.fails(SELLER, &sol::cancelListingCall { listingId: listing }, &cancelled);
    world.fails(SELLER, &update, &cancelled);
    world.fails(BUYER, &buy(listing, 1, coin), &cancelled);
    let unknown = U256::from(77);
    world.fails(BUYER, &buy(unknown, 1, coin), &sol::ListingNotOpen { listingId: unknown, status: sol::Status::UNSET });
}

#[test]
fn a_reserved_listing_is_for_one_buyer() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let params = sol::ListingParameters { reservedFor: BUYER, ..world.listing(art, coin) };
    let listing = world.ok(SELLER, &sol::createListingCall { params });
    let reserved = sol::ListingReserved { listingId: listing, buyer: OWNER, reservedFor: BUYER };
    world.fails(OWNER, &buy(listing, 1, coin), &reserved);
    world.ok(BUYER, &buy(listing, 1, coin));
}

#[test]
fn listings_are_read_in_pages() {
    let mut world = World::new();
    let (art, items, coin) = (world.art, world.items, world.coin);
    for collection in [art, items, items] {
        world.list(collection, coin);
    }
    let page = |from: u64, count: U256| {
        let listings = world.read(&sol::getListingsCall { from: U256::from(from), count });
        listings.iter().map(|listing| listing.listingId.to::<u64>()).collect::<Vec<_>>()
    };
    assert_eq!(page(0, U256::from(2)), [0, 1]);
    assert_eq!(page(1, U256::MAX), [1, 2]);
    assert_eq!(page(3, U256::MAX), Vec::<u64>::new());
    assert_eq!(page(0, U256::ZERO), Vec::<u64>::new());
    assert_eq!(world.read(&sol::totalListingsCall {}), U256::from(3));
}

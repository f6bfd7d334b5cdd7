//! What can be offered, accepted, cancelled and withdrawn.

use super::*;

fn accept(offer: U256, quantity: u64) -> sol::acceptOfferCall {
    sol::acceptOfferCall { offerId: offer, quantity: U256::from(quantity) }
}

#[test]
fn an_offer_in_coins_is_paid_when_it_is_accepted() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let params = world.offer(art, coin, 1);
    let offer = world.ok(BUYER, &sol::makeOfferCall { params });
    assert_eq!((world.coins(BUYER), world.coins(world.market)), (COINS, 0));
    world.ok(SELLER, &accept(offer, 1));
    let logs = world.chain.journal.logs();
    let sale = sol::AcceptedOffer::decode_log_data(&logs.last().unwrap().data).unwrap();
    assert_eq!((sale.offeror, sale.seller, sale.royaltyReceiver), (BUYER, SELLER, CREATOR));
    assert_eq!([sale.totalPricePaid, sale.fee, sale.royalty].map(|part| part.to::<u64>()), [1_000, 25, 100]);
    assert_eq!(world.held(art, BUYER, 1), 1);
    assert_eq!([FEES, CREATOR, SELLER, BUYER].map(|who| world.coins(who)), [25, 100, COINS + 875, COINS - 1_000]);
    let done = sol::OfferNotOpen { offerId: offer, status: sol::Status::COMPLETED };
    world.fails(SELLER, &accept(offer, 1), &done);
}

#[test]
fn an_offer_in_ether_is_paid_at_once_accepted_in_parts_and_the_rest_given_back() {
    let mut world = World::new();
    let items = world.items;
    let params = world.offer(items, NATIVE, 10);
    let make = sol::makeOfferCall { params };
    let short = sol::IncorrectValue { value: U256::from(9_999), needed: U256::from(10_000) };
    assert_eq!(world.pay(BUYER, 9_999, &make), Err(reason(&short)));
    let offer = world.pay(BUYER, 10_000, &make).unwrap();
    assert_eq!(world.chain.wei(world.market), 10_000);
    world.ok(SELLER, &accept(offer, 4));
    assert_eq!(world.held(items, BUYER, 1), 4);
    assert_eq!([FEES, CREATOR, SELLER].map(|who| world.chain.wei(who)), [FUNDS + 100, FUNDS + 400, FUNDS + 3_500]);
    assert_eq!(world.read(&sol::getOfferCall { offerId: offer }).quantity, U256::from(6));
    let many = sol::InvalidQuantity { quantity: U256::from(7), available: U256::from(6) };
    world.fails(SELLER, &accept(offer, 7), &many);
    let stranger = sol::OfferUnauthorizedAccount { offerId: offer, account: SELLER };
    world.fails(SELLER, &sol::cancelOfferCall { offerId: offer }, &stranger);
    world.ok(BUYER, &sol::cancelOfferCall { offerId: offer });
    assert_eq!((world.pending(BUYER, NATIVE), world.chain.wei(world.market)), (6_000, 6_000));
    let cancelled = sol::OfferNotOpen { offerId: offer, status: sol::Status::CANCELLED };
    world.fails(BUYER, &sol::cancelOfferCall { offerId: offer }, &cancelled);
    world.fails(SELLER, &accept(offer, 1), &cancelled);
    let withdraw = sol::withdrawCall { currency: NATIVE, to: OWNER };
    assert_eq!(world.ok(BUYER, &withdraw), U256::from(6_000));
    assert_eq!((world.chain.wei(OWNER), world.chain.wei(world.market)), (FUNDS + 6_000, 0));
    world.fails(BUYER, &withdraw, &sol::NothingToWithdraw { account: BUYER, currency: NATIVE });
}

#[test]
fn an_offer_has_its_time_and_a_seller_its_token() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let params = |expiration| sol::OfferParameters { expirationTimestamp: expiration, ..world.offer(art, coin, 1) };
    let [late, good] = [NOW, NOW + 10].map(params);
    let error = sol::InvalidTime { startTimestamp: NOW, endTimestamp: NOW };
    world.fails(BUYER, &sol::makeOfferCall { params: late }, &error);
    let offer = world.ok(BUYER, &sol::makeOfferCall { params: good });
    let not_held =
        sol::TokenNotHeld { assetContract: art, tokenId: U256::from(1), holder: OWNER, quantity: U256::from(1) };
    world.fails(OWNER, &accept(offer, 1), &not_held);
    world.approve(SELLER, art, false);
    let not_approved = sol::TokenNotApproved { assetContract: art, tokenId: U256::from(1), holder: SELLER };
    world.fails(SELLER, &accept(offer, 1), &not_approved);
    world.approve(SELLER, art, true);
    world.chain.at(NOW + 10);
    world.fails(SELLER, &accept(offer, 1), &sol::OfferExpired { offerId: offer, expirationTimestamp: NOW + 10 });
    world.chain.at(NOW + 9);
    world.ok(SELLER, &accept(offer, 1));
}

#[test]
fn an_expired_offer_in_ether_is_given_back() {
    let mut world = World::new();
    let params = sol::OfferParameters { expirationTimestamp: NOW + 1, ..world.offer(world.art, NATIVE, 1) };
    let offer = world.pay(BUYER, 1_000, &sol::makeOfferCall { params }).unwrap();
    world.chain.at(NOW + 100);
    world.ok(BUYER, &sol::cancelOfferCall { offerId: offer });
    world.ok(BUYER, &sol::withdrawCall { currency: NATIVE, to: BUYER });
    assert_eq!(world.chain.wei(BUYER), FUNDS);
}

#[test]
fn offers_are_read_in_pages() {
    let mut world = World::new();
    for collection in [world.art, world.items] {
        let params = world.offer(collection, world.coin, 1);
        world.ok(BUYER, &sol::makeOfferCall { params });
    }
    let page = |from: u64, count| world.read(&sol::getOffersCall { from: U256::from(from), count });
    assert_eq!(page(0, U256::MAX).len(), 2);
    assert_eq!(page(1, U256::from(1))[0].tokenType, sol::TokenType::ERC1155);
    assert_eq!(world.read(&sol::totalOffersCall {}), U256::from(2));
}

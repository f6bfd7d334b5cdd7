//! Prices that fall, and the first who pays.

use super::*;

#[test]
fn a_price_falls_until_somebody_pays_it() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let auction = world.make_dutch(art, coin);
    let call = sol::currentPriceCall { auctionId: auction };
    for (seconds, price) in [(0, 5_000), (1, 4_996), (250, 4_000), (999, 1_004), (DURATION, 1_000)] {
        assert_eq!(world.after(seconds).read(&call), U256::from(price), "after {seconds} s");
    }
    world.after(250);
    let high = sol::PriceTooHigh { auctionId: auction, price: U256::from(4_000), maxPrice: U256::from(3_999) };
    world.fails(ALICE, &buy(auction, 3_999), &high);
    world.ok(ALICE, &buy(auction, 5_000));
    assert_eq!([FEES, CREATOR, SELLER, ALICE].map(|who| world.coins(who)), [100, 400, 3_500, COINS - 4_000]);
    assert_eq!((world.held(art, ALICE), world.coins(world.house)), (1, 0));
    let got = world.auction(auction);
    assert_eq!((got.highestBidder, got.highestBid, got.status), (ALICE, U256::from(4_000), sol::Status::COMPLETED));
    let done = sol::AuctionNotOpen { auctionId: auction, status: sol::Status::COMPLETED };
    world.fails(BOB, &buy(auction, 5_000), &done);
}

#[test]
fn ether_beyond_the_price_goes_back() {
    let mut world = World::new();
    let items = world.items;
    let auction = world.make_dutch(items, NATIVE);
    world.after(500);
    let short = sol::IncorrectValue { value: U256::from(2_999), needed: U256::from(3_000) };
    assert_eq!(world.pay(ALICE, 2_999, &buy(auction, 5_000)), Err(reason(&short)));
    world.pay(ALICE, 5_000, &buy(auction, 5_000)).unwrap();
    assert_eq!(world.chain.wei(ALICE), FUNDS - 3_000);
    assert_eq!([FEES, CREATOR, SELLER].map(|who| world.chain.wei(who)), [FUNDS + 75, FUNDS + 300, FUNDS + 2_625]);
    assert_eq!((world.held(items, ALICE), world.chain.wei(world.house)), (10, 0));
}

#[test]
fn nobody_buys_too_early_too_late_or_for_both_currencies() {
    let mut world = World::new();
    let params = sol::DutchParameters { startTimestamp: NOW + 10, ..world.dutch(world.art, world.coin) };
    let auction = world.ok(SELLER, &sol::createDutchAuctionCall { params });
    let early = sol::AuctionNotStarted { auctionId: auction, startTimestamp: NOW + 10 };
    world.fails(ALICE, &buy(auction, 9_000), &early);
    let late = sol::AuctionEnded { auctionId: auction, endTimestamp: NOW + DURATION };
    world.after(DURATION).fails(ALICE, &buy(auction, 9_000), &late);
    let ether = sol::IncorrectValue { value: U256::from(1), needed: U256::ZERO };
    assert_eq!(world.after(20).pay(ALICE, 1, &buy(auction, 9_000)), Err(reason(&ether)));
}

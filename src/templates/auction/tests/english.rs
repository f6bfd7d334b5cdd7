//! Bids that rise, refunds that wait, ends that move.

use super::*;

#[test]
fn the_highest_bid_wins_and_the_others_are_given_back() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let auction = world.make_english(art, coin);
    let low = |amount: u64, needed: u64| sol::BidTooLow {
        auctionId: auction,
        amount: U256::from(amount),
        needed: U256::from(needed),
    };
    let price = |world: &World| world.read(&sol::currentPriceCall { auctionId: auction }).to::<u64>();
    assert_eq!(price(&world), 1_000);
    world.fails(ALICE, &bid(auction, 999), &low(999, 1_000));
    world.ok(ALICE, &bid(auction, 1_001));
    // 5 % of 1,001, rounded up.
    assert_eq!(price(&world), 1_052);
    world.fails(BOB, &bid(auction, 1_051), &low(1_051, 1_052));
    world.ok(BOB, &bid(auction, 1_052));
    let logs = world.chain.journal.logs();
    let event = sol::NewBid::decode_log_data(&logs.last().unwrap().data).unwrap();
    assert_eq!((event.bidder, event.amount, event.endTimestamp), (BOB, U256::from(1_052), NOW + DURATION));
    assert_eq!((world.pending(ALICE, coin), world.coins(world.house)), (1_001, 2_053));
    world.ok(ALICE, &bid(auction, 2_000));
    world.ok(ALICE, &bid(auction, 3_000));
    let got = world.auction(auction);
    assert_eq!((got.highestBidder, got.highestBid), (ALICE, U256::from(3_000)));
    let has_bid = sol::AuctionHasBid { auctionId: auction, highestBidder: ALICE };
    world.fails(SELLER, &sol::cancelAuctionCall { auctionId: auction }, &has_bid);
    world.after(DURATION);
    world.fails(BOB, &bid(auction, 9_000), &sol::AuctionEnded { auctionId: auction, endTimestamp: NOW + DURATION });
    world.ok(OWNER, &settle(auction));
    let logs = world.chain.journal.logs();
    let sale = logs.iter().find_map(|log| sol::AuctionSettled::decode_log_data(&log.data).ok()).unwrap();
    assert_eq!((sale.winner, sale.auctionCreator, sale.royaltyReceiver), (ALICE, SELLER, CREATOR));
    assert_eq!([sale.price, sale.fee, sale.royalty].map(|part| part.to::<u64>()), [3_000, 75, 300]);
    assert_eq!([FEES, CREATOR, SELLER].map(|who| world.coins(who)), [75, 300, 2_625]);
    assert_eq!(world.held(art, ALICE), 1);
    assert_eq!((world.pending(ALICE, coin), world.pending(BOB, coin)), (3_001, 1_052));
    for user in [ALICE, BOB] {
        world.ok(user, &sol::withdrawCall { currency: coin, to: user });
    }
    assert_eq!([ALICE, BOB, world.house].map(|who| world.coins(who)), [COINS - 3_000, COINS, 0]);
}

#[test]
fn bids_in_ether_come_with_the_call() {
    let mut world = World::new();
    let items = world.items;
    let auction = world.make_english(items, NATIVE);
    let short = sol::IncorrectValue { value: U256::from(1_499), needed: U256::from(1_500) };
    assert_eq!(world.pay(ALICE, 1_499, &bid(auction, 1_500)), Err(reason(&short)));
    world.pay(ALICE, 1_500, &bid(auction, 1_500)).unwrap();
    world.pay(BOB, 2_000, &bid(auction, 2_000)).unwrap();
    assert_eq!((world.pending(ALICE, NATIVE), world.chain.wei(world.house)), (1_500, 3_500));
    world.ok(ALICE, &sol::withdrawCall { currency: NATIVE, to: OWNER });
    assert_eq!((world.chain.wei(OWNER), world.chain.wei(world.house)), (FUNDS + 1_500, 2_000));
    world.after(DURATION).ok(OWNER, &settle(auction));
    assert_eq!([FEES, CREATOR, SELLER].map(|who| world.chain.wei(who)), [FUNDS + 50, FUNDS + 200, FUNDS + 1_750]);
    assert_eq!((world.held(items, BOB), world.chain.wei(world.house)), (10, 0));
    let ether = sol::IncorrectValue { value: U256::from(1), needed: U256::ZERO };
    let (art, coin) = (world.art, world.coin);
    world.after(0);
    let auction = world.make_english(art, coin);
    assert_eq!(world.pay(ALICE, 1, &bid(auction, 1_500)), Err(reason(&ether)));
}

#[test]
fn a_late_bid_moves_the_end() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let auction = world.make_english(art, coin);
    let end = |world: &World| world.auction(auction).endTimestamp - NOW;
    world.after(DURATION - 100).ok(ALICE, &bid(auction, 1_000));
    assert_eq!(end(&world), DURATION, "so much time is left");
    world.after(DURATION - 99).ok(BOB, &bid(auction, 2_000));
    assert_eq!(end(&world), DURATION + 1);
    world.after(DURATION).ok(ALICE, &bid(auction, 3_000));
    assert_eq!(end(&world), DURATION + 100);
    let early = sol::AuctionNotEnded { auctionId: auction, endTimestamp: NOW + DURATION + 100 };
    world.after(DURATION + 99).fails(OWNER, &settle(auction), &early);
    let late = sol::AuctionEnded { auctionId: auction, endTimestamp: NOW + DURATION + 100 };
    world.after(DURATION + 100).fails(BOB, &bid(auction, 4_000), &late);
    world.ok(OWNER, &settle(auction));
    assert_eq!(world.held(art, ALICE), 1);
}

#[test]
fn an_auction_starts_when_it_says() {
    let mut world = World::new();
    let params = sol::EnglishParameters { startTimestamp: NOW + 10, ..world.english(world.art, world.coin) };
    let auction = world.ok(SELLER, &sol::createEnglishAuctionCall { params });
    let early = sol::AuctionNotStarted { auctionId: auction, startTimestamp: NOW + 10 };
    world.after(9).fails(ALICE, &bid(auction, 1_000), &early);
    world.after(10).ok(ALICE, &bid(auction, 1_000));
}

/// A reserve of nothing still needs a bid, and a raise of nothing one of a unit.
#[test]
fn the_least_terms_are_one_unit() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let params = sol::EnglishParameters { reservePrice: U256::ZERO, minIncrement: 0, ..world.english(art, coin) };
    let auction = world.ok(SELLER, &sol::createEnglishAuctionCall { params });
    let low = |amount: u64, needed: u64| sol::BidTooLow {
        auctionId: auction,
        amount: U256::from(amount),
        needed: U256::from(needed),
    };
    world.fails(ALICE, &bid(auction, 0), &low(0, 1));
    world.ok(ALICE, &bid(auction, 1));
    world.fails(BOB, &bid(auction, 1), &low(1, 2));
    world.ok(BOB, &bid(auction, 2));
}

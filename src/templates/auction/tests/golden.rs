//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Where tokens are called, their gas is included: that of `test_chain`'s plain tokens, so that other templates may change theirs.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

/// Auctions of each kind, currency and collection, and what becomes of them.
fn history(world: &mut World) -> String {
    let (art, items, coin) = (world.art, world.items, world.coin);
    let english = |collection, currency| {
        sol::createEnglishAuctionCall { params: world.english(collection, currency) }.abi_encode()
    };
    let dutch =
        |collection, currency| sol::createDutchAuctionCall { params: world.dutch(collection, currency) }.abi_encode();
    let late = sol::EnglishParameters { endTimestamp: NOW, ..world.english(items, coin) };
    let rising = sol::DutchParameters { startPrice: U256::ZERO, ..world.dutch(items, coin) };
    let id = |id: u64| U256::from(id);
    let cancel = |auction| sol::cancelAuctionCall { auctionId: auction }.abi_encode();
    let price = |auction| sol::currentPriceCall { auctionId: auction }.abi_encode();
    let withdraw = |currency, to| sol::withdrawCall { currency, to }.abi_encode();
    let claim = sol::claimCall { auctionId: id(0), to: ALICE }.abi_encode();
    let set_fee = sol::setFeeCall { fee: 500, recipient: FEES }.abi_encode();
    let pending = sol::pendingWithdrawalsCall { account: ALICE, currency: coin }.abi_encode();
    let received =
        sol::onERC1155ReceivedCall { operator: ALICE, from: ALICE, id: id(1), value: id(1), data: Bytes::new() };
    let batch = sol::onERC1155BatchReceivedCall {
        operator: ALICE,
        from: ALICE,
        ids: vec![],
        values: vec![],
        data: Bytes::new(),
    };
    let steps = [
        ("createEnglishAuction for coins", 0, SELLER, 0, english(art, coin)),
        ("createEnglishAuction of many for ether", 0, SELLER, 0, english(items, NATIVE)),
        ("createDutchAuction for coins", 0, SELLER, 0, dutch(items, coin)),
        ("createDutchAuction for ether", 0, SELLER, 0, dutch(items, NATIVE)),
        (
            "createEnglishAuction that is over",
            0,
            SELLER,
            0,
            sol::createEnglishAuctionCall { params: late }.abi_encode(),
        ),
        ("createDutchAuction that rises", 0, SELLER, 0, sol::createDutchAuctionCall { params: rising }.abi_encode()),
        ("createEnglishAuction of others' tokens", 0, ALICE, 0, english(items, coin)),
        ("createEnglishAuction for another currency", 0, SELLER, 0, english(items, art)),
        ("getAuction", 0, ALICE, 0, sol::getAuctionCall { auctionId: id(0) }.abi_encode()),
        ("getAuctions", 0, ALICE, 0, sol::getAuctionsCall { from: id(0), count: id(9) }.abi_encode()),
        ("totalAuctions", 0, ALICE, 0, sol::totalAuctionsCall {}.abi_encode()),
        ("currentPrice of bids", 0, ALICE, 0, price(id(0))),
        ("currentPrice that falls", 250, ALICE, 0, price(id(2))),
        ("bid in coins, the first", 1, ALICE, 0, bid(id(0), 1_000).abi_encode()),
        ("bid in coins", 1, BOB, 0, bid(id(0), 2_000).abi_encode()),
        ("bid too low", 1, ALICE, 0, bid(id(0), 2_001).abi_encode()),
        ("bid in coins, late", 950, ALICE, 0, bid(id(0), 3_000).abi_encode()),
        ("bid in ether, the first", 1, ALICE, 1_000, bid(id(1), 1_000).abi_encode()),
        ("bid in ether", 1, BOB, 2_000, bid(id(1), 2_000).abi_encode()),
        ("bid with too little", 1, ALICE, 2_999, bid(id(1), 3_000).abi_encode()),
        ("bid in a Dutch auction", 1, ALICE, 0, bid(id(2), 9_000).abi_encode()),
        ("bid in no auction", 1, ALICE, 0, bid(id(9), 9_000).abi_encode()),
        ("buy for coins", 500, ALICE, 0, buy(id(2), 9_000).abi_encode()),
        ("buy again", 500, ALICE, 0, buy(id(2), 9_000).abi_encode()),
        ("buy too dear", 500, ALICE, 3_000, buy(id(3), 2_999).abi_encode()),
        ("buy with too little", 500, ALICE, 2_999, buy(id(3), 9_000).abi_encode()),
        ("buy for ether with change", 500, ALICE, 5_000, buy(id(3), 9_000).abi_encode()),
        ("cancelAuction with a bid", 2, SELLER, 0, cancel(id(0))),
        ("cancelAuction by a stranger", 2, ALICE, 0, cancel(id(0))),
        ("settle too early", 2, OWNER, 0, settle(id(0)).abi_encode()),
        ("settle for coins", 2 * DURATION, OWNER, 0, settle(id(0)).abi_encode()),
        ("settle for ether", 2 * DURATION, OWNER, 0, settle(id(1)).abi_encode()),
        ("settle again", 2 * DURATION, OWNER, 0, settle(id(1)).abi_encode()),
        ("bid too late", 2 * DURATION, ALICE, 0, bid(id(1), 9_000).abi_encode()),
        ("createDutchAuction to be cancelled", 0, SELLER, 0, dutch(items, coin)),
        ("cancelAuction", 0, SELLER, 0, cancel(id(4))),
        ("createEnglishAuction without a bid", 0, SELLER, 0, english(items, coin)),
        ("settle without a bid", DURATION, OWNER, 0, settle(id(5)).abi_encode()),
        ("claim of nothing", 0, ALICE, 0, claim),
        ("claimantOf", 0, ALICE, 0, sol::claimantOfCall { auctionId: id(0) }.abi_encode()),
        ("pendingWithdrawals", 0, ALICE, 0, pending),
        ("withdraw to nobody", 0, ALICE, 0, withdraw(coin, Address::ZERO)),
        ("withdraw of coins", 0, ALICE, 0, withdraw(coin, ALICE)),
        ("withdraw of ether", 0, ALICE, 0, withdraw(NATIVE, ALICE)),
        ("withdraw of nothing", 0, ALICE, 0, withdraw(NATIVE, ALICE)),
        ("fee", 0, ALICE, 0, sol::feeCall {}.abi_encode()),
        ("feeRecipient", 0, ALICE, 0, sol::feeRecipientCall {}.abi_encode()),
        ("setFee by a stranger", 0, ALICE, 0, set_fee.clone()),
        ("setFee", 0, OWNER, 0, set_fee),
        ("isCurrencyAccepted", 0, ALICE, 0, sol::isCurrencyAcceptedCall { currency: coin }.abi_encode()),
        ("setCurrency by a stranger", 0, ALICE, 0, sol::setCurrencyCall { currency: art, accepted: true }.abi_encode()),
        ("setCurrency", 0, OWNER, 0, sol::setCurrencyCall { currency: art, accepted: true }.abi_encode()),
        ("owner", 0, ALICE, 0, sol::ownerCall {}.abi_encode()),
        ("transferOwnership", 0, OWNER, 0, sol::transferOwnershipCall { newOwner: SELLER }.abi_encode()),
        ("renounceOwnership by a stranger", 0, OWNER, 0, sol::renounceOwnershipCall {}.abi_encode()),
        ("renounceOwnership", 0, SELLER, 0, sol::renounceOwnershipCall {}.abi_encode()),
        ("onERC1155Received", 0, ALICE, 0, received.abi_encode()),
        ("onERC1155BatchReceived", 0, ALICE, 0, batch.abi_encode()),
        (
            "supportsInterface",
            0,
            ALICE,
            0,
            sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode(),
        ),
        ("value to a function", 0, ALICE, 1, sol::feeCall {}.abi_encode()),
        ("a function that is not there", 0, ALICE, 0, vec![1, 2, 3, 4]),
    ];
    let house = world.house;
    let lines = steps
        .map(|(name, seconds, from, value, input)| world.after(seconds).chain.line(name, from, house, value, &input));
    lines.concat()
}

/// A lot that the collection does not move when it should, and that is claimed later.
fn undelivered(world: &mut World) -> String {
    let (art, coin, house) = (world.art, world.coin, world.house);
    let auction = world.make_english(art, coin);
    world.ok(ALICE, &bid(auction, 1_000));
    world.chain.ok(OWNER, art, &nft::setRefusalCall { isOn: true });
    world.after(DURATION);
    let mut lines = world.chain.line("settle of a lot that is refused", OWNER, house, 0, &settle(auction).abi_encode());
    world.chain.ok(OWNER, art, &nft::setRefusalCall { isOn: false });
    let claim = sol::claimCall { auctionId: auction, to: ALICE };
    lines += &world.chain.line("claim", ALICE, house, 0, &claim.abi_encode());
    lines
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let mut chain = TestChain::new(&[OWNER]);
    let good = AuctionParams::new(OWNER);
    let kinds = [
        ("defaults", good.clone()),
        ("a token", AuctionParams { token: Some(ALICE), fee: 250, ..good.clone() }),
        ("a fee that is too high", AuctionParams { fee: 10_001, ..good.clone() }),
        ("nobody who gets fees", AuctionParams { fee_recipient: Address::ZERO, ..good }),
    ];
    let mut got = kinds.map(|(name, params)| chain.creation_line(OWNER, name, &params.init_code()).1).concat();
    got += &history(&mut World::new());
    got += &undelivered(&mut World::new());
    assert_golden(&got, include_str!("golden.txt"));
}

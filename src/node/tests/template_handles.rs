//! Each ready-made template by its typed interface alone: deployed by its parameters, read, written to, its events and errors decoded.

use std::collections::BTreeSet;

use alloy_primitives::I256;
use alloy_sol_types::{Revert, SolCall, SolStruct, eip712_domain};

use crate::{
    node::{
        Contract, Node,
        testing::{expect_event, expect_revert},
    },
    primitives::{Address, B256, Bytes, Timestamp, U256},
    templates::{
        AuctionParams, BATCH_ADDRESS, Batch, Erc20Features, Erc20Params, Erc721Features, Erc721Params, Erc1155Features,
        Erc1155Params, Erc2771ForwarderParams, Erc4626Params, GovernanceDaoParams, LendingParams,
        LiquidityFactoryParams, LiquidityPoolParams, LiquidityRouterParams, MarketplaceParams, Multicall,
        MultisigParams, PriceFeedParams, RecordRegistryParams, StakingPoolParams, TimelockControllerParams,
        VestingWalletParams, WrappedNativeParams, auction,
        batch::{Operation, interface::Batch as batch},
        builtin, erc20, erc721, erc1155, erc2771_forwarder, erc4626, governance_dao, lending, liquidity_factory,
        liquidity_pool, liquidity_router, marketplace, multicall, multisig, price_feed, record_registry, staking_pool,
        timelock_controller, vesting_wallet, wrapped_native,
    },
};

/// A test for each template, by name.
const HANDLES: [(&str, fn(&World)); 21] = [
    ("erc20-token", erc20_token),
    ("erc721-nft", erc721_nft),
    ("erc1155-multi", erc1155_multi),
    ("erc4626-vault", erc4626_vault),
    ("vesting-wallet", vesting),
    ("multicall", multicall3),
    ("erc2771-forwarder", forwarder),
    ("batch", operations),
    ("record-registry", records),
    ("governance-dao", governor),
    ("timelock-controller", timelock),
    ("staking-pool", staking),
    ("liquidity-pool", pool),
    ("liquidity-factory", factory),
    ("liquidity-router", router),
    ("lending", lending_market),
    ("price-feed", price_feed_of_dollars),
    ("multisig", shared_wallet),
    ("wrapped-native", wrapped),
    ("marketplace", market),
    ("auction", auctions),
];

/// A node, and two of its accounts.
struct World {
    node: Node,
    alice: Address,
    bob: Address,
}

#[test]
fn every_template_is_used_by_types_alone() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let world = World { node, alice, bob };
    let tested: BTreeSet<_> = HANDLES.iter().map(|(name, _)| *name).collect();
    assert_eq!(tested, builtin().iter().map(|template| template.name()).collect());
    for (name, test) in HANDLES {
        println!("{name}");
        test(&world);
    }
}

impl World {
    fn deploy(&self, init_code: Bytes) -> Contract {
        self.node.deploy(self.alice, init_code).unwrap().into_contract()
    }

    /// A token of which alice has 1,000.
    fn gold(&self) -> Contract {
        self.deploy(Erc20Params::new("Gold", "GLD", amount(1_000), self.alice).init_code())
    }
}

fn amount(value: u64) -> U256 {
    U256::from(value)
}

fn erc20_token(World { alice, bob, node }: &World) {
    use erc20::interface as sol;
    let features = Erc20Features { mintable: true, ..Erc20Features::default() };
    let params = Erc20Params { features, ..Erc20Params::new("Gold", "GLD", amount(1_000), *alice) };
    let token = node.deploy(*alice, params.init_code()).unwrap();
    assert_eq!(token.call(sol::symbolCall {}).unwrap(), "GLD");
    let event: sol::Transfer = expect_event(&token.send(sol::mintCall { to: *bob, amount: amount(5) }).unwrap());
    assert_eq!(event, sol::Transfer { from: Address::ZERO, to: *bob, value: amount(5) });
    let poor: sol::ERC20InsufficientBalance =
        expect_revert(token.from(*bob).call(sol::transferCall { to: *alice, value: amount(6) }));
    assert_eq!(poor, sol::ERC20InsufficientBalance { sender: *bob, balance: amount(5), needed: amount(6) });
}

fn erc721_nft(world: &World) {
    use erc721::interface as sol;
    let features = Erc721Features { mintable: true, ..Erc721Features::default() };
    let params = Erc721Params { features, ..Erc721Params::new("Art", "ART", "ipfs://art/", world.alice) };
    let token = world.deploy(params.init_code());
    let mint = sol::safeMint_1Call { to: world.bob, tokenId: amount(7), uri: "seven.json".to_owned() };
    let event: sol::Transfer = expect_event(&token.send(mint).unwrap());
    assert_eq!(event, sol::Transfer { from: Address::ZERO, to: world.bob, tokenId: amount(7) });
    assert_eq!(token.call(sol::tokenURICall { tokenId: amount(7) }).unwrap(), "ipfs://art/seven.json");
    let none: sol::ERC721NonexistentToken = expect_revert(token.call(sol::ownerOfCall { tokenId: amount(8) }));
    assert_eq!(none.tokenId, amount(8));
}

fn erc1155_multi(world: &World) {
    use erc1155::interface as sol;
    let features = Erc1155Features { mintable: true, ..Erc1155Features::default() };
    let params = Erc1155Params { features, ..Erc1155Params::new("ipfs://items/{id}.json", world.alice) };
    let token = world.deploy(params.init_code());
    let (ids, amounts) = (vec![amount(1), amount(2)], vec![amount(10), amount(20)]);
    let mint = sol::mintBatchCall { to: world.bob, ids: ids.clone(), amounts: amounts.clone(), data: Bytes::new() };
    let event: sol::TransferBatch = expect_event(&token.send(mint).unwrap());
    assert_eq!((event.to, &event.ids, &event.values), (world.bob, &ids, &amounts));
    let balances = sol::balanceOfBatchCall { accounts: vec![world.bob; 2], ids };
    assert_eq!(token.call(balances).unwrap(), amounts);
    let uneven = sol::balanceOfBatchCall { accounts: vec![world.bob], ids: vec![] };
    let uneven: sol::ERC1155InvalidArrayLength = expect_revert(token.call(uneven));
    assert_eq!((uneven.idsLength, uneven.valuesLength), (U256::ZERO, amount(1)));
}

fn erc4626_vault(world: &World) {
    use erc4626::interface as sol;
    let gold = world.gold();
    let vault = world.deploy(Erc4626Params::new("Gold shares", "sGLD", gold.address(), world.alice).init_code());
    gold.send(erc20::interface::approveCall { spender: vault.address(), value: U256::MAX }).unwrap();
    let deposit = sol::depositCall { assets: amount(30), receiver: world.bob };
    let event: sol::Deposit = expect_event(&vault.send(deposit).unwrap());
    assert_eq!(
        (event.sender, event.owner, event.assets, event.shares),
        (world.alice, world.bob, amount(30), amount(30))
    );
    assert_eq!(vault.call(sol::totalAssetsCall {}).unwrap(), amount(30));
    let withdraw = sol::withdrawCall { assets: amount(31), receiver: world.bob, owner: world.bob };
    let refused: sol::ERC4626ExceededMaxWithdraw = expect_revert(vault.from(world.bob).send(withdraw));
    assert_eq!(refused.max, amount(30));
}

fn vesting(world: &World) {
    use vesting_wallet::interface as sol;
    let now = world.node.view().head().block().header().timestamp;
    let params = VestingWalletParams::new(world.bob, Timestamp::from_secs(now), 1);
    let wallet = world.node.deploy_with_value(world.alice, params.init_code(), amount(100)).unwrap();
    assert_eq!(wallet.call(sol::endCall {}).unwrap(), amount(now + 1));
    world.node.mine(1).unwrap();
    let event: sol::EtherReleased = expect_event(&wallet.send(sol::release_0Call {}).unwrap());
    assert_eq!(event.amount, amount(100));
    let stranger: sol::OwnableUnauthorizedAccount =
        expect_revert(wallet.send(sol::transferOwnershipCall { newOwner: world.alice }));
    assert_eq!(stranger.account, world.alice);
}

fn multicall3(world: &World) {
    use multicall::interface as sol;
    let gold = world.gold();
    let multicall = world.deploy(Multicall::init_code());
    assert_eq!(multicall.call(sol::getChainIdCall {}).unwrap(), amount(world.node.view().chain_id()));
    let read = erc20::interface::balanceOfCall { account: world.alice };
    let call = |allow_failure, call_data: Vec<u8>| sol::Call3 {
        target: gold.address(),
        allowFailure: allow_failure,
        callData: call_data.into(),
    };
    let results = multicall.call(sol::aggregate3Call { calls: vec![call(false, read.abi_encode())] }).unwrap();
    let balance = erc20::interface::balanceOfCall::abi_decode_returns(&results[0].returnData).unwrap();
    assert_eq!((results[0].success, balance), (true, amount(1_000)));
    let approve = erc20::interface::approveCall { spender: world.bob, value: amount(4) };
    let mined = multicall.send(sol::aggregate3Call { calls: vec![call(false, approve.abi_encode())] }).unwrap();
    let event: erc20::interface::Approval = expect_event(&mined);
    assert_eq!((event.owner, event.value), (multicall.address(), amount(4)));
    let failing = erc20::interface::transferCall { to: world.bob, value: amount(1) };
    let failed: Revert =
        expect_revert(multicall.call(sol::aggregate3Call { calls: vec![call(false, failing.abi_encode())] }));
    assert_eq!(failed.reason, "Multicall3: call failed");
}

/// The message that signers of a forwarder sign.
mod message {
    alloy_sol_types::sol! {
        struct ForwardRequest {
            address from;
            address to;
            uint256 value;
            uint256 gas;
            uint256 nonce;
            uint48 deadline;
            bytes data;
        }
    }
}

fn forwarder(world: &World) {
    use erc2771_forwarder::interface as sol;
    let forwarder = world.deploy(Erc2771ForwarderParams::new("Forwarder").init_code());
    let (gold, signer) = (world.gold(), &world.node.keys()[1]);
    let shares = Erc4626Params::new("Gold shares", "sGLD", gold.address(), world.alice);
    let vault = world.deploy(Erc4626Params { trusted_forwarder: Some(forwarder.address()), ..shares }.init_code());

    let nonce = forwarder.call(sol::noncesCall { owner: world.bob }).unwrap();
    assert_eq!(nonce, U256::ZERO);
    let approve = erc4626::interface::approveCall { spender: world.alice, value: amount(5) };
    let (from, to, value, gas) = (signer.address(), vault.address(), U256::ZERO, amount(100_000));
    let (deadline, data) = (u64::from(u32::MAX).try_into().unwrap(), Bytes::from(approve.abi_encode()));
    let message = message::ForwardRequest { from, to, value, gas, nonce, deadline, data: data.clone() };
    let chain_id = world.node.view().chain_id();
    let verifying_contract = forwarder.address();
    let domain =
        eip712_domain! { name: "Forwarder", version: "1", chain_id: chain_id, verifying_contract: verifying_contract, };
    let signature = signer.sign_hash(message.eip712_signing_hash(&domain)).as_bytes().into();
    let request = sol::ForwardRequestData { from, to, value, gas, deadline, data, signature };

    assert!(forwarder.call(sol::verifyCall { request: request.clone() }).unwrap());
    let event: sol::ExecutedForwardRequest =
        expect_event(&forwarder.send(sol::executeCall { request: request.clone() }).unwrap());
    assert_eq!((event.signer, event.success), (world.bob, true));
    let allowance = erc4626::interface::allowanceCall { owner: world.bob, spender: world.alice };
    assert_eq!(vault.call(allowance).unwrap(), amount(5));
    let mismatched: sol::ERC2771ForwarderMismatchedValue =
        expect_revert(forwarder.send_value(sol::executeCall { request }, amount(1)));
    assert_eq!((mismatched.requestedValue, mismatched.msgValue), (U256::ZERO, amount(1)));
}

fn operations(world: &World) {
    let gold = world.gold();
    assert_eq!(
        world.deploy(Batch::init_code()).call(batch::executeCall { operations: vec![] }).unwrap(),
        Vec::<Bytes>::new()
    );
    let batch = world.node.contract(BATCH_ADDRESS, world.alice);
    let transfer = |value| {
        let call = erc20::interface::transferCall { to: world.bob, value: amount(value) };
        Operation::call(gold.address(), &call)
    };
    let mined = batch.send(batch::executeCall { operations: vec![transfer(2), transfer(3)] }).unwrap();
    let moved: Vec<_> = mined.events::<erc20::interface::Transfer>().iter().map(|event| event.value).collect();
    assert_eq!(moved, [amount(2), amount(3)]);
    let failed: batch::OperationFailed =
        expect_revert(batch.send(batch::executeCall { operations: vec![transfer(1), transfer(1_000)] }));
    assert_eq!(failed.index, amount(1));
}

fn records(world: &World) {
    use record_registry::interface::{self as sol, Access};
    let registry = world.deploy(RecordRegistryParams::new(world.alice).init_code());
    let (collection, id) = (B256::repeat_byte(1), B256::repeat_byte(2));
    let rules = sol::Rules {
        create: Access::Anyone,
        update: Access::RecordOwner,
        remove: Access::RecordOwner,
        transfer: Access::Admin,
    };
    registry.send(sol::createCollectionCall { collection, name: "notes".to_owned(), rules: rules.clone() }).unwrap();
    assert_eq!(registry.call(sol::rulesCall { collection }).unwrap(), rules);
    let by_bob = registry.from(world.bob);
    let created = by_bob.send(sol::createCall { collection, id, data: Bytes::from_static(b"one") }).unwrap();
    let event: sol::RecordCreated = expect_event(&created);
    assert_eq!((event.author, event.version), (world.bob, 1));
    let record = registry.call(sol::getCall { collection, id }).unwrap();
    assert_eq!((record.owner, record.data), (world.bob, Bytes::from_static(b"one")));
    let late = sol::updateCall { collection, id, expectedVersion: 9, data: Bytes::new() };
    let late: sol::VersionMismatch = expect_revert(by_bob.send(late));
    assert_eq!(late, sol::VersionMismatch { expected: 9, actual: 1 });
}

fn governor(world: &World) {
    use governance_dao::interface as sol;
    let features = Erc20Features { votes: true, ..Erc20Features::default() };
    let token = Erc20Params { features, ..Erc20Params::new("Gold", "GLD", amount(1_000), world.alice) };
    let token = world.deploy(token.init_code());
    token.send(erc20::interface::delegateCall { delegatee: world.alice }).unwrap();
    let governor = world.deploy(GovernanceDaoParams::new("Council", token.address()).init_code());
    let (targets, values, calldatas) = (vec![world.bob], vec![amount(1)], vec![Bytes::new()]);
    let propose = sol::proposeCall { targets, values, calldatas, description: "A gift".to_owned() };
    let event: sol::ProposalCreated = expect_event(&governor.send(propose).unwrap());
    assert_eq!((event.proposer, event.description.as_str()), (world.alice, "A gift"));
    assert_eq!(governor.call(sol::proposalProposerCall { proposalId: event.proposalId }).unwrap(), world.alice);
    let early: sol::GovernorUnexpectedProposalState =
        expect_revert(governor.send(sol::castVoteCall { proposalId: event.proposalId, support: 1 }));
    assert_eq!(early.proposalId, event.proposalId);
}

fn timelock(world: &World) {
    use timelock_controller::interface as sol;
    let timelock = world.deploy(TimelockControllerParams::new(100, vec![world.alice]).init_code());
    let (target, value, data) = (world.bob, U256::ZERO, Bytes::new());
    let predecessor = B256::ZERO;
    let schedule = |delay: u64| {
        let (salt, delay) = (B256::from(amount(delay)), amount(delay));
        sol::scheduleCall { target, value, data: data.clone(), predecessor, salt, delay }
    };
    let event: sol::CallScheduled = expect_event(&timelock.send(schedule(100)).unwrap());
    assert_eq!((event.target, event.delay), (world.bob, amount(100)));
    assert!(timelock.call(sol::isOperationPendingCall { id: event.id }).unwrap());
    let short: sol::TimelockInsufficientDelay = expect_revert(timelock.send(schedule(99)));
    assert_eq!((short.delay, short.minDelay), (amount(99), amount(100)));
}

fn staking(world: &World) {
    use staking_pool::interface as sol;
    let [staked, reward] = [world.gold(), world.gold()];
    let pool = world.deploy(StakingPoolParams::new(staked.address(), reward.address(), 5, world.alice).init_code());
    for token in [&staked, &reward] {
        token.send(erc20::interface::approveCall { spender: pool.address(), value: U256::MAX }).unwrap();
    }
    let event: sol::Staked = expect_event(&pool.send(sol::stakeCall { amount: amount(7) }).unwrap());
    assert_eq!((event.user, event.amount), (world.alice, amount(7)));
    let fund = sol::fundRewardCall { token: reward.address(), amount: amount(52) };
    let event: sol::RewardFunded = expect_event(&pool.send(fund).unwrap());
    assert_eq!(event.amount, amount(50));
    assert_eq!(pool.call(sol::rewardTokensCall {}).unwrap(), [reward.address()]);
    let nothing: Revert = expect_revert(pool.from(world.bob).send(sol::exitCall {}));
    assert_eq!(nothing.reason, "Cannot withdraw 0");
    let none: sol::StakingUnknownReward = expect_revert(pool.call(sol::rewardPerToken_1Call { token: world.bob }));
    assert_eq!(none.token, world.bob);
}

fn pool(world: &World) {
    use liquidity_pool::interface as sol;
    let tokens = [world.gold(), world.gold()];
    let pool = world.deploy(LiquidityPoolParams::new(tokens[0].address(), tokens[1].address()).init_code());
    assert_eq!(pool.call(sol::MINIMUM_LIQUIDITYCall {}).unwrap(), amount(1_000));
    let transfer = erc20::interface::transferCall { to: pool.address(), value: amount(7) };
    for token in &tokens {
        token.send(transfer.clone()).unwrap();
    }
    let event: sol::Sync = expect_event(&pool.send(sol::syncCall {}).unwrap());
    assert_eq!(event.reserve0.to::<u64>(), 7);
    let poor: Revert = expect_revert(pool.send(sol::mintCall { to: world.alice }));
    assert!(poor.reason.starts_with("ds-math"), "{}", poor.reason);
}

fn factory(world: &World) {
    use liquidity_factory::interface as sol;
    let factory = world.deploy(LiquidityFactoryParams::new(world.alice).init_code());
    let [one, other] = [world.gold().address(), world.gold().address()];
    let create = || sol::createPairCall { tokenA: one, tokenB: other };
    let event: sol::PairCreated = expect_event(&factory.send(create()).unwrap());
    assert_eq!(factory.call(sol::getPairCall { tokenA: other, tokenB: one }).unwrap(), event.pair);
    let twice: Revert = expect_revert(factory.send(create()));
    assert_eq!(twice.reason, "UniswapV2: PAIR_EXISTS");
}

fn router(world: &World) {
    use liquidity_router::interface as sol;
    let wrapped = world.deploy(WrappedNativeParams::default().init_code());
    let factory = world.deploy(LiquidityFactoryParams::new(world.alice).init_code());
    let router = world.deploy(LiquidityRouterParams::new(factory.address(), wrapped.address()).init_code());
    assert_eq!(router.call(sol::WETHCall {}).unwrap(), wrapped.address());
    let quote = sol::quoteCall { amountA: amount(2), reserveA: amount(10), reserveB: amount(50) };
    assert_eq!(router.call(quote).unwrap(), amount(10));
    let path = vec![wrapped.address(), world.bob];
    let late = sol::swapExactETHForTokensCall { amountOutMin: U256::ZERO, path, to: world.alice, deadline: U256::ZERO };
    let late: Revert = expect_revert(router.send_value(late, amount(1)));
    assert_eq!(late.reason, "UniswapV2Router: EXPIRED");
}

fn lending_market(world: &World) {
    use lending::interface as sol;
    let (usd, gold) = (world.gold(), world.gold());
    // Units of both are worth units of the price: all have 18 decimals.
    let price = PriceFeedParams::new("Gold / USD", 2_000_000_000_000_000_000, world.alice);
    let feed = world.deploy(PriceFeedParams { decimals: 18, ..price }.init_code());
    let params = LendingParams::new(usd.address(), gold.address(), feed.address(), world.alice);
    let market = world.deploy(params.init_code());
    for (asset, value) in [(&usd, 500), (&gold, 100)] {
        asset.send(erc20::interface::approveCall { spender: market.address(), value: U256::MAX }).unwrap();
        let asset = asset.address();
        let supply = sol::supplyCall { asset, amount: amount(value), onBehalfOf: world.alice, referralCode: 0 };
        let event: sol::Supply = expect_event(&market.send(supply).unwrap());
        assert_eq!((event.reserve, event.amount), (asset, amount(value)));
    }
    let borrow = |value| sol::borrowCall {
        asset: usd.address(),
        amount: amount(value),
        interestRateMode: amount(2),
        referralCode: 0,
        onBehalfOf: world.alice,
    };
    let event: sol::Borrow = expect_event(&market.send(borrow(150)).unwrap());
    assert_eq!((event.user, event.amount), (world.alice, amount(150)));
    let account = market.call(sol::getUserAccountDataCall { user: world.alice }).unwrap();
    assert!(account.healthFactor > U256::from(10).pow(amount(18)));
    let refused: Revert = expect_revert(market.send(borrow(1)));
    assert_eq!(refused.reason, "36", "COLLATERAL_CANNOT_COVER_NEW_BORROW");
    let short: sol::LendingInsufficientLiquidity =
        expect_revert(market.send(sol::withdrawCall { asset: usd.address(), amount: amount(499), to: world.bob }));
    assert_eq!((short.available, short.needed), (amount(350), amount(499)));
}

fn price_feed_of_dollars(world: &World) {
    use price_feed::interface as sol;
    let feed = world.deploy(PriceFeedParams::new("ETH / USD", 2_000 * 100_000_000, world.alice).init_code());
    let answer = I256::try_from(1_999 * 100_000_000_i64).unwrap();
    let event: sol::AnswerUpdated = expect_event(&feed.send(sol::updateAnswerCall { _answer: answer }).unwrap());
    assert_eq!((event.current, event.roundId), (answer, amount(2)));
    let round = feed.call(sol::latestRoundDataCall {}).unwrap();
    assert_eq!((round.answer, round.updatedAt), (answer, event.updatedAt));
    let stranger: sol::OwnableUnauthorizedAccount =
        expect_revert(feed.from(world.bob).send(sol::updateAnswerCall { _answer: answer }));
    assert_eq!(stranger.account, world.bob);
}

fn shared_wallet(world: &World) {
    use multisig::interface as sol;
    let wallet = world.deploy(MultisigParams::new(vec![world.alice, world.bob], 2).init_code());
    let submit = sol::submitTransactionCall { destination: world.bob, value: U256::ZERO, data: Bytes::new() };
    let event: sol::Submission = expect_event(&wallet.send(submit).unwrap());
    let confirm = sol::confirmTransactionCall { transactionId: event.transactionId };
    wallet.send(confirm.clone()).unwrap_err();
    let event: sol::Execution = expect_event(&wallet.from(world.bob).send(confirm).unwrap());
    assert!(wallet.call(sol::transactionsCall(event.transactionId)).unwrap().executed);
    assert_eq!(wallet.call(sol::getOwnersCall {}).unwrap(), [world.alice, world.bob]);
}

fn wrapped(world: &World) {
    use wrapped_native::interface as sol;
    let wrapped = world.deploy(WrappedNativeParams::default().init_code());
    let event: sol::Deposit = expect_event(&wrapped.send_value(sol::depositCall {}, amount(9)).unwrap());
    assert_eq!((event.dst, event.wad), (world.alice, amount(9)));
    assert_eq!(wrapped.call(sol::balanceOfCall { account: world.alice }).unwrap(), amount(9));
    wrapped.send(sol::withdrawCall { wad: amount(10) }).unwrap_err();
}

impl World {
    /// A collection with a token of alice's that an operator may move.
    fn art_for(&self, operator: Address) -> Address {
        let features = Erc721Features { mintable: true, ..Erc721Features::default() };
        let params = Erc721Params { features, ..Erc721Params::new("Art", "ART", "", self.alice) };
        let art = self.deploy(params.init_code());
        art.send(erc721::interface::safeMint_0Call { to: self.alice, tokenId: amount(7) }).unwrap();
        art.send(erc721::interface::approveCall { to: operator, tokenId: amount(7) }).unwrap();
        art.address()
    }
}

fn market(world: &World) {
    use marketplace::interface as sol;
    let market = world.deploy(MarketplaceParams { fee: 250, ..MarketplaceParams::new(world.alice) }.init_code());
    let params = sol::ListingParameters {
        assetContract: world.art_for(market.address()),
        tokenId: amount(7),
        quantity: amount(1),
        currency: Address::ZERO,
        pricePerToken: amount(1_000),
        startTimestamp: 0,
        endTimestamp: 0,
        reservedFor: Address::ZERO,
    };
    let event: sol::NewListing = expect_event(&market.send(sol::createListingCall { params }).unwrap());
    assert_eq!((event.listing.listingCreator, event.listing.fee), (world.alice, 250));
    let buy = sol::buyFromListingCall {
        listingId: event.listingId,
        buyFor: world.bob,
        quantity: amount(1),
        currency: Address::ZERO,
        expectedTotalPrice: amount(1_000),
    };
    let cheap: sol::IncorrectValue = expect_revert(market.from(world.bob).send_value(buy.clone(), amount(999)));
    assert_eq!((cheap.value, cheap.needed), (amount(999), amount(1_000)));
    let sale: sol::NewSale = expect_event(&market.from(world.bob).send_value(buy, amount(1_000)).unwrap());
    assert_eq!((sale.buyer, sale.fee, sale.royalty), (world.bob, amount(25), U256::ZERO));
}

fn auctions(world: &World) {
    use auction::interface as sol;
    let house = world.deploy(AuctionParams { fee: 250, ..AuctionParams::new(world.alice) }.init_code());
    let params = sol::EnglishParameters {
        assetContract: world.art_for(house.address()),
        tokenId: amount(7),
        quantity: amount(1),
        currency: Address::ZERO,
        reservePrice: amount(1_000),
        minIncrement: 500,
        timeExtension: 60,
        startTimestamp: 0,
        endTimestamp: world.node.now().as_secs() + 100_000,
    };
    let event: sol::NewAuction = expect_event(&house.send(sol::createEnglishAuctionCall { params }).unwrap());
    assert_eq!((event.auction.auctionCreator, event.auction.kind), (world.alice, sol::Kind::ENGLISH));
    let bid = |value: u64| sol::bidCall { auctionId: event.auctionId, amount: amount(value) };
    let low: sol::BidTooLow = expect_revert(house.from(world.bob).send_value(bid(999), amount(999)));
    assert_eq!(low.needed, amount(1_000));
    let placed: sol::NewBid = expect_event(&house.from(world.bob).send_value(bid(1_000), amount(1_000)).unwrap());
    assert_eq!((placed.bidder, placed.amount), (world.bob, amount(1_000)));
    let early: sol::AuctionNotEnded = expect_revert(house.send(sol::settleCall { auctionId: event.auctionId }));
    assert_eq!(early.auctionId, event.auctionId);
    assert_eq!(house.call(sol::currentPriceCall { auctionId: event.auctionId }).unwrap(), amount(1_050));
}

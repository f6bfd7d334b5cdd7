//! Contracts of every template, and their users.

use alloy_sol_types::SolCall;
use chainbox::{
    primitives::{Address, B256, Bytes, Gas, Height, KeyPair, Timestamp, U256},
    state::{CommitId, Journal, MemoryState, StateStore},
    store::Batch as StoreBatch,
    templates::{
        AuctionParams, Batch, Erc20Params, Erc721Features, Erc721Params, Erc1155Features, Erc1155Params,
        Erc2771ForwarderParams, Erc4626Params, MarketplaceParams, Multicall, RecordRegistryParams, VestingWalletParams,
        auction::interface as auction, builtin, erc20::interface as coin, erc721::interface as art,
        erc1155::interface as items, erc4626::interface as vault, marketplace::interface as market,
        record_registry::interface as records,
    },
    vm::{BlockContext, Message, execute},
};

/// Users, each of whom sends one transaction of a round.
pub(crate) const USERS: usize = 1_000;

/// Ids of the contract of many tokens; each user has some of all.
pub(crate) const IDS: u64 = 10;

/// The collection of the users' records.
pub(crate) const COLLECTION: B256 = B256::repeat_byte(0xb0);

/// Who deploys, mints and owns.
pub(crate) const ADMIN: Address = Address::repeat_byte(0xad);

pub(crate) const CHAIN_ID: u64 = 31_337;
pub(crate) const NOW: u64 = 1_700_000_000;

/// Gas of a message that prepares, in gas units.
const AMPLE: Gas = Gas::new(10_000_000);

/// Price of each listing, and reserve price of each auction, in coins.
pub(crate) const PRICE: u64 = 1_000;

/// Native token of each account, in wei.
const FUNDS: U256 = U256::from_limbs([0, 1, 0, 0]);

/// A journal that has the contracts and their users cached, as after a block.
pub(crate) struct World {
    pub(crate) journal: Journal,
    pub(crate) block: BlockContext,
    pub(crate) keys: Vec<KeyPair>,
    pub(crate) users: Vec<Address>,
    pub(crate) coin: Address,
    pub(crate) art: Address,
    pub(crate) items: Address,
    pub(crate) forwarder: Address,
    pub(crate) vault: Address,
    /// A wallet for each user.
    pub(crate) wallets: Vec<Address>,
    pub(crate) multicall: Address,
    pub(crate) batch: Address,
    pub(crate) registry: Address,
    /// With a listing of each user's token of `art`.
    pub(crate) market: Address,
    /// With an auction of one of each user's `items`, in which another user has bid.
    pub(crate) house: Address,
}

impl World {
    /// Deploys a contract of every template, and gives each user tokens, shares, a vesting wallet and a record.
    pub(crate) fn new() -> Self {
        let keys: Vec<_> = (0..USERS as u64).map(|n| KeyPair::from_seed(n, "user")).collect();
        let users: Vec<_> = keys.iter().map(KeyPair::address).collect();
        let mut build = Builder::new(&users);
        let coin = build.deploy(Erc20Params::new("Gold", "GLD", FUNDS, ADMIN).init_code());
        let art = Erc721Features { mintable: true, ..Erc721Features::default() };
        let art = Erc721Params { features: art, ..Erc721Params::new("Art", "ART", "ipfs://art/", ADMIN) };
        let art = build.deploy(art.init_code());
        let items = Erc1155Features { mintable: true, ..Erc1155Features::default() };
        let items = Erc1155Params { features: items, ..Erc1155Params::new("ipfs://items/{id}.json", ADMIN) };
        let items = build.deploy(items.init_code());
        let forwarder = build.deploy(Erc2771ForwarderParams::new("Forwarder").init_code());
        let shares = Erc4626Params::new("Gold shares", "sGLD", coin, ADMIN);
        let vault = build.deploy(Erc4626Params { trusted_forwarder: Some(forwarder), ..shares }.init_code());
        let registry = build.deploy(RecordRegistryParams::new(ADMIN).init_code());
        let (multicall, batch) = (build.deploy(Multicall::init_code()), build.deploy(Batch::init_code()));
        build.collection(registry);
        let market = build
            .deploy(MarketplaceParams { fee: 250, token: Some(coin), ..MarketplaceParams::new(ADMIN) }.init_code());
        let house =
            build.deploy(AuctionParams { fee: 250, token: Some(coin), ..AuctionParams::new(ADMIN) }.init_code());
        let mut wallets = Vec::with_capacity(USERS);
        for (n, &user) in users.iter().enumerate() {
            build.give(user, n, coin, art, items);
            build.share(user, coin, vault);
            build.record(user, n, registry);
            wallets.push(build.wallet(user, coin));
            build.list(user, n, [coin, art, market]);
            build.auction(user, [coin, items, house]);
        }
        for (n, &user) in users.iter().enumerate() {
            let bid = auction::bidCall { auctionId: id((n + 1) % USERS), amount: U256::from(PRICE) };
            build.send(user, house, &bid);
        }
        let (journal, block) = build.finish();
        Self {
            journal,
            block,
            keys,
            users,
            coin,
            art,
            items,
            forwarder,
            vault,
            wallets,
            multicall,
            batch,
            registry,
            market,
            house,
        }
    }

    /// Another user for each.
    pub(crate) fn peer(&self, n: usize) -> Address {
        self.users[(n * 7_919 + 1) % USERS]
    }
}

/// A record's data.
pub(crate) fn data(byte: u8) -> Bytes {
    vec![byte; 100].into()
}

/// The id of the token or record with this number.
pub(crate) fn id(n: usize) -> U256 {
    U256::from(n)
}

/// What deploys and prepares.
struct Builder {
    store: MemoryState,
    journal: Journal,
    block: BlockContext,
    nonce: u64,
}

impl Builder {
    fn new(users: &[Address]) -> Self {
        let store = MemoryState::new();
        let mut journal = Journal::new(store.view(CommitId::EMPTY).expect("the empty version"));
        for account in users.iter().chain([&ADMIN]) {
            journal.set_balance(account, FUNDS).expect("memory");
        }
        let (chain_id, height, timestamp) = (CHAIN_ID, Height::new(1), Timestamp::from_secs(NOW));
        let block =
            BlockContext { chain_id, height, timestamp, base_fee: 7, gas_limit: Gas::MAX, ..Default::default() };
        Self { store, journal, block, nonce: 0 }
    }

    /// Commits, and keeps what is cached.
    fn finish(mut self) -> (Journal, BlockContext) {
        let changes = self.journal.take_changes();
        let commit = self.store.commit(CommitId::EMPTY, &changes, &mut StoreBatch::new()).expect("memory");
        self.journal.advance_to(self.store.view(commit.id).expect("just made")).expect("memory");
        (self.journal, self.block)
    }

    fn run(&mut self, message: &Message<'_>) {
        self.journal.begin_transaction();
        let result = execute(&mut self.journal, &self.block, builtin(), message).expect("memory");
        assert!(result.is_success(), "{result:?}");
    }

    fn deploy(&mut self, init_code: Bytes) -> Address {
        let message = Message::create(ADMIN, self.nonce, U256::ZERO, &init_code, AMPLE);
        self.nonce += 1;
        self.run(&message);
        message.to
    }

    fn send(&mut self, from: Address, to: Address, call: &impl SolCall) {
        self.run(&Message::call(from, to, U256::ZERO, &call.abi_encode(), AMPLE));
    }

    fn collection(&mut self, registry: Address) {
        use records::Access::{Anyone, RecordOwner};
        let rules = records::Rules { create: Anyone, update: RecordOwner, remove: RecordOwner, transfer: RecordOwner };
        let collection = records::createCollectionCall { collection: COLLECTION, name: "notes".to_owned(), rules };
        self.send(ADMIN, registry, &collection);
    }

    fn give(&mut self, user: Address, n: usize, coin: Address, art: Address, items: Address) {
        self.send(ADMIN, coin, &coin::transferCall { to: user, value: U256::from(1_000_000) });
        self.send(ADMIN, art, &art::safeMint_0Call { to: user, tokenId: id(n) });
        let ids: Vec<_> = (0..IDS).map(U256::from).collect();
        let amounts = vec![U256::from(1_000); ids.len()];
        self.send(ADMIN, items, &items::mintBatchCall { to: user, ids, amounts, data: Bytes::new() });
    }

    fn share(&mut self, user: Address, coin: Address, vault: Address) {
        self.send(user, coin, &coin::approveCall { spender: vault, value: U256::MAX });
        self.send(user, vault, &vault::depositCall { assets: U256::from(1_000), receiver: user });
    }

    fn record(&mut self, user: Address, n: usize, registry: Address) {
        let create = records::createCall { collection: COLLECTION, id: id(n).into(), data: data(1) };
        self.send(user, registry, &create);
    }

    /// Half of a wallet's tokens has vested.
    fn wallet(&mut self, user: Address, coin: Address) -> Address {
        let start = Timestamp::from_secs(NOW - 1_000);
        let wallet = self.deploy(VestingWalletParams::new(user, start, 2_000).init_code());
        self.send(ADMIN, coin, &coin::transferCall { to: wallet, value: U256::from(1_000) });
        wallet
    }

    /// Lists the user's token.
    fn list(&mut self, user: Address, n: usize, [coin, art, market]: [Address; 3]) {
        self.send(user, coin, &coin::approveCall { spender: market, value: U256::MAX });
        self.send(user, art, &art::setApprovalForAllCall { operator: market, approved: true });
        let params = market::ListingParameters {
            assetContract: art,
            tokenId: id(n),
            quantity: U256::from(1),
            currency: coin,
            pricePerToken: U256::from(PRICE),
            startTimestamp: 0,
            endTimestamp: 0,
            reservedFor: Address::ZERO,
        };
        self.send(user, market, &market::createListingCall { params });
    }

    /// Auctions one of the user's tokens.
    fn auction(&mut self, user: Address, [coin, items, house]: [Address; 3]) {
        self.send(user, coin, &coin::approveCall { spender: house, value: U256::MAX });
        self.send(user, items, &items::setApprovalForAllCall { operator: house, approved: true });
        let params = auction::EnglishParameters {
            assetContract: items,
            tokenId: U256::ZERO,
            quantity: U256::from(1),
            currency: coin,
            reservePrice: U256::from(PRICE),
            minIncrement: 500,
            timeExtension: 60,
            startTimestamp: 0,
            endTimestamp: NOW + 1_000,
        };
        self.send(user, house, &auction::createEnglishAuctionCall { params });
    }
}

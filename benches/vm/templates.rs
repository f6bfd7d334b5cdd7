//! The most frequent calls of each template, as transactions of 1,000 users to one contract of it; all that they touch is cached.

use alloy_sol_types::{Eip712Domain, SolCall, SolStruct, eip712_domain};
use chainbox::{
    primitives::{Address, Bytes, U256},
    templates::{
        auction::interface as auction,
        batch::{Operation, interface::Batch},
        erc20::interface as coin,
        erc721::interface as art,
        erc1155::interface as items,
        erc2771_forwarder::interface as forwarder,
        erc4626::interface as vault,
        marketplace::interface as market,
        multicall::interface as multicall,
        record_registry::interface as records,
        vesting_wallet::interface as vesting,
    },
};
use criterion::{BatchSize, Criterion, Throughput};

use crate::{
    transaction::{Unsigned, run},
    world::{ADMIN, CHAIN_ID, COLLECTION, IDS, NOW, PRICE, USERS, World, data, id},
};

/// Calls in a multicall, operations in a batch.
const CALLS: usize = 10;

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

/// One transaction of each user.
struct Case {
    name: String,
    /// Events of each transaction.
    events: usize,
    transactions: Vec<Unsigned>,
}

/// Measures transactions a second of each case.
pub(crate) fn template_calls(c: &mut Criterion) {
    let world = World::new();
    let mut group = c.benchmark_group("template_calls");
    group.throughput(Throughput::Elements(USERS as u64)).sample_size(20);
    for Case { name, events, transactions } in world.cases() {
        assert_eq!(run(&mut world.journal.clone(), &world.block, &transactions), events * USERS, "{name}");
        let run_all = |mut journal| {
            run(&mut journal, &world.block, &transactions);
            journal
        };
        group.bench_function(name, |b| {
            b.iter_batched(|| world.journal.clone(), run_all, BatchSize::PerIteration);
        });
    }
    group.finish();
}

impl World {
    fn cases(&self) -> Vec<Case> {
        let value = U256::from(1);
        let ids: Vec<_> = (0..IDS).map(U256::from).collect();
        let safe_transfer = |n| items::safeTransferFromCall {
            from: self.users[n],
            to: self.peer(n),
            id: U256::from(n as u64 % IDS),
            value,
            data: Bytes::new(),
        };
        let safe_batch = |n| items::safeBatchTransferFromCall {
            from: self.users[n],
            to: self.peer(n),
            ids: ids.clone(),
            values: vec![value; ids.len()],
            data: Bytes::new(),
        };
        let withdraw = |n| {
            let user: Address = self.users[n];
            vault::withdrawCall { assets: U256::from(100), receiver: user, owner: user }
        };
        let update =
            |n| records::updateCall { collection: COLLECTION, id: id(n).into(), expectedVersion: 1, data: data(2) };
        vec![
            self.case("erc20-token transfer", 1, self.coin, |n| coin::transferCall { to: self.peer(n), value }),
            self.case("erc721-nft transferFrom", 1, self.art, |n| art::transferFromCall {
                from: self.users[n],
                to: self.peer(n),
                tokenId: id(n),
            }),
            self.mints(),
            self.case("erc1155-multi safeTransferFrom", 1, self.items, safe_transfer),
            self.case(&format!("erc1155-multi safeBatchTransferFrom ids={IDS}"), 1, self.items, safe_batch),
            self.case("erc4626-vault deposit", 3, self.vault, |n| vault::depositCall {
                assets: U256::from(100),
                receiver: self.users[n],
            }),
            self.case("erc4626-vault withdraw", 3, self.vault, withdraw),
            self.releases(),
            self.case(&format!("multicall aggregate3 calls={CALLS}"), 0, self.multicall, |n| self.balances(n)),
            self.case("erc2771-forwarder execute", 2, self.forwarder, |n| self.request(n)),
            self.case(&format!("batch execute operations={CALLS}"), CALLS, self.batch, |n| self.operations(n)),
            self.case("record-registry create bytes=100", 1, self.registry, |n| records::createCall {
                collection: COLLECTION,
                id: id(USERS + n).into(),
                data: data(1),
            }),
            self.case("record-registry update bytes=100", 1, self.registry, update),
            self.case("marketplace buyFromListing", 4, self.market, |n| self.purchase(n)),
            self.case("auction bid", 3, self.house, |n| auction::bidCall {
                auctionId: id(n),
                amount: U256::from(2 * PRICE),
            }),
        ]
    }

    /// A call of each user to one contract.
    fn case<C: SolCall>(&self, name: &str, events: usize, to: Address, call: impl Fn(usize) -> C) -> Case {
        let transactions = (0..USERS).map(|n| unsigned(self.users[n], to, &call(n))).collect();
        Case { name: name.to_owned(), events, transactions }
    }

    /// Mints to each user by the minter.
    fn mints(&self) -> Case {
        let mint = |n| art::safeMint_0Call { to: self.users[n], tokenId: id(USERS + n) };
        let transactions = (0..USERS).map(|n| unsigned(ADMIN, self.art, &mint(n))).collect();
        Case { name: "erc721-nft safeMint".to_owned(), events: 1, transactions }
    }

    /// A release of half of the tokens of each user's wallet.
    fn releases(&self) -> Case {
        let release = vesting::release_1Call { token: self.coin };
        let transactions = (0..USERS).map(|n| unsigned(self.users[n], self.wallets[n], &release)).collect();
        Case { name: "vesting-wallet release(address)".to_owned(), events: 2, transactions }
    }

    /// A purchase of another user's token, which that user lists, for coins.
    fn purchase(&self, n: usize) -> market::buyFromListingCall {
        market::buyFromListingCall {
            listingId: id((n + 1) % USERS),
            buyFor: self.users[n],
            quantity: U256::from(1),
            currency: self.coin,
            expectedTotalPrice: U256::from(PRICE),
        }
    }

    fn balances(&self, n: usize) -> multicall::aggregate3Call {
        let one = |offset| multicall::Call3 {
            target: self.coin,
            allowFailure: false,
            callData: coin::balanceOfCall { account: self.peer(n + offset) }.abi_encode().into(),
        };
        multicall::aggregate3Call { calls: (0..CALLS).map(one).collect() }
    }

    fn operations(&self, n: usize) -> Batch::executeCall {
        let transfer = |offset| coin::transferCall { to: self.peer(n + offset), value: U256::from(1) };
        let operations = (0..CALLS).map(|offset| Operation::call(self.coin, &transfer(offset))).collect();
        Batch::executeCall { operations }
    }

    /// A transfer of shares that the user signed; another one sends it.
    fn request(&self, n: usize) -> forwarder::executeCall {
        let signer = &self.keys[(n + 1) % USERS];
        let data: Bytes = vault::transferCall { to: self.peer(n), value: U256::from(1) }.abi_encode().into();
        let (from, to, value, gas) = (signer.address(), self.vault, U256::ZERO, U256::from(200_000));
        let deadline = (NOW + 1).try_into().expect("48 bits");
        let signed = message::ForwardRequest { from, to, value, gas, nonce: U256::ZERO, deadline, data: data.clone() };
        let signature = signer.sign_hash(signed.eip712_signing_hash(&self.domain())).as_bytes().into();
        forwarder::executeCall {
            request: forwarder::ForwardRequestData { from, to, value, gas, deadline, data, signature },
        }
    }

    fn domain(&self) -> Eip712Domain {
        eip712_domain! { name: "Forwarder", version: "1", chain_id: CHAIN_ID, verifying_contract: self.forwarder, }
    }
}

fn unsigned(from: Address, to: Address, call: &impl SolCall) -> Unsigned {
    Unsigned { from, to, value: U256::ZERO, input: call.abi_encode() }
}

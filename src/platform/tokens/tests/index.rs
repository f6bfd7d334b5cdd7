//! The index of transfers and holders against a walk of all events, with blocks that leave the chain.

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes};
use alloy_sol_types::{SolCall, SolEvent};
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    chain::LogFilter,
    node::{Database, SnapshotId},
    platform::blockchain::token_index::TokenIndex,
    primitives::Height,
    store::{KeyValue, MemoryStore},
    templates::{MULTICALL3_ADDRESS, erc1155::interface as erc1155, multicall::interface as multicall},
};

/// What happens next. Accounts are numbers of the node's; amounts and ids are small, so that some calls fail.
#[derive(Clone, Debug)]
enum Step {
    /// An ERC-20 transfer, mint (by the owner to somebody) or burn.
    Fungible {
        by: usize,
        to: usize,
        amount: u64,
        kind: u8,
    },
    /// An ERC-721 mint or transfer.
    NonFungible {
        by: usize,
        to: usize,
        id: u64,
        is_mint: bool,
    },
    /// An ERC-1155 mint or transfer of one id, or of two at once.
    Multi {
        by: usize,
        to: usize,
        ids: [u64; 2],
        amount: u64,
        is_mint: bool,
        is_batch: bool,
    },
    Snapshot,
    Revert(usize),
    Reorg(u64),
    /// Somebody looks, so that the index in memory is at this block.
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let account = 0..4_usize;
    prop_oneof![
        4 => (account.clone(), account.clone(), 0..40_u64, 0..4_u8)
            .prop_map(|(by, to, amount, kind)| Step::Fungible { by, to, amount, kind }),
        4 => (account.clone(), account.clone(), 1..6_u64, any::<bool>())
            .prop_map(|(by, to, id, is_mint)| Step::NonFungible { by, to, id, is_mint }),
        4 => (account.clone(), account, [1..4_u64, 1..4_u64], 0..9_u64, any::<bool>(), any::<bool>())
            .prop_map(|(by, to, ids, amount, is_mint, is_batch)| Step::Multi { by, to, ids, amount, is_mint, is_batch }),
        1 => Just(Step::Snapshot),
        1 => any::<usize>().prop_map(Step::Revert),
        2 => (1..4_u64).prop_map(Step::Reorg),
        1 => Just(Step::Look),
    ]
}

struct World {
    platform: Platform,
    /// Rows that a hook writes with the blocks, in the node's own store.
    hooked: Arc<TokenIndex>,
    store: Arc<MemoryStore>,
    /// ERC-20, ERC-721, ERC-1155.
    contracts: [Address; 3],
    snapshots: Vec<SnapshotId>,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        let hooked = Arc::new(TokenIndex::stored(store.clone()));
        let node =
            Node::builder().with_database(Database::Store(store.clone())).with_hook(hooked.clone()).build().unwrap();
        hooked.open(&node);
        let described = BlockchainSpec::read(serde_json::json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), described, node, 0);
        let platform = Platform::builder(Arc::new(ManualClock::default())).open(chain).unwrap();
        let from = platform.default_blockchain().unwrap().node().accounts()[0];
        let contracts = [TokenStandard::Erc20, TokenStandard::Erc721, TokenStandard::Erc1155].map(|standard| {
            let features = TokenFeatures { mintable: true, burnable: true, ..TokenFeatures::default() };
            let supply = U256::from(if standard == TokenStandard::Erc721 { 2 } else { 50 });
            made(&platform, TokenSpec { total_supply: supply, features, from: Some(from), ..spec(standard) }).1
        });
        Self { platform, hooked, store, contracts, snapshots: Vec::new() }
    }

    fn node(&self) -> &Node {
        self.platform.default_blockchain().unwrap().node()
    }

    /// Returns the call of a step; `None` for one that is none.
    fn call(&self, step: &Step) -> Option<CallRequest> {
        let accounts = self.node().accounts().to_vec();
        let [fungible, non_fungible, multi] = self.contracts;
        let data = Default::default();
        let (by, contract, input) = match *step {
            Step::Fungible { by, to, amount, kind } => {
                let (to, amount) = (accounts[to], U256::from(amount));
                let input = match kind {
                    0 => erc20::mintCall { to, amount }.abi_encode(),
                    1 => erc20::burnCall { value: amount }.abi_encode(),
                    _ => erc20::transferCall { to, value: amount }.abi_encode(),
                };
                (if kind == 0 { 0 } else { by }, fungible, input)
            }
            Step::NonFungible { by, to, id, is_mint } => {
                let (from, to, id) = (accounts[by], accounts[to], U256::from(id));
                match is_mint {
                    true => (0, non_fungible, erc721::safeMint_0Call { to, tokenId: id }.abi_encode()),
                    false => (by, non_fungible, erc721::transferFromCall { from, to, tokenId: id }.abi_encode()),
                }
            }
            Step::Multi { by, to, ids, amount, is_mint, is_batch } => {
                let (from, to, amount) = (accounts[by], accounts[to], U256::from(amount));
                let (id, ids, amounts) = (U256::from(ids[0]), ids.map(U256::from).to_vec(), vec![amount; 2]);
                let input = match (is_mint, is_batch) {
                    (true, true) => erc1155::mintBatchCall { to, ids, amounts, data }.abi_encode(),
                    (true, false) => erc1155::mintCall { account: to, id, amount, data }.abi_encode(),
                    (false, true) => {
                        erc1155::safeBatchTransferFromCall { from, to, ids, values: amounts, data }.abi_encode()
                    }
                    (false, false) => erc1155::safeTransferFromCall { from, to, id, value: amount, data }.abi_encode(),
                };
                (if is_mint { 0 } else { by }, multi, input)
            }
            _ => return None,
        };
        Some(CallRequest::call(contract, input).with_from(accounts[by]).with_gas(crate::primitives::Gas::new(500_000)))
    }

    fn apply(&mut self, step: &Step) {
        if let Some(call) = self.call(step) {
            // Those that the contract refuses are in blocks, too, without events.
            self.node().send_request(call).unwrap();
            return;
        }
        match step {
            Step::Snapshot => self.snapshots.push(self.node().snapshot()),
            Step::Revert(at) if !self.snapshots.is_empty() => {
                let at = at % self.snapshots.len();
                assert!(self.node().revert(self.snapshots[at]).unwrap());
                self.snapshots.truncate(at);
            }
            Step::Reorg(depth) => {
                // The contracts stay.
                let height = self.node().view().head().height().get();
                let depth = (*depth).min(height.saturating_sub(6));
                if depth > 0 {
                    let again = self.call(&Step::Fungible { by: 0, to: 2, amount: 1, kind: 0 }).unwrap();
                    self.node().reorg(depth, [(again.into(), 0)]).unwrap();
                }
            }
            _ => self.check(),
        }
    }

    /// Both indices say what the events say, in pages of any size and order.
    fn check(&self) {
        let in_memory = self.platform.default_blockchain().unwrap().token_index();
        for (contract, standard) in
            self.contracts.into_iter().zip([TokenStandard::Erc20, TokenStandard::Erc721, TokenStandard::Erc1155])
        {
            let transfers = walk(self.node(), contract, standard);
            let holders = held(&transfers, standard == TokenStandard::Erc1155);
            for index in [&*self.hooked, in_memory] {
                check_pages(&transfers, |window| {
                    let (found, total) = index.transfers(self.node(), contract, window).unwrap();
                    (found.iter().map(Walked::of).collect(), total)
                });
                check_pages(&holders, |window| {
                    index.holders(self.node(), contract, HolderOrder::Address, window).unwrap()
                });
                let mut by_balance = holders.clone();
                by_balance.sort_by_key(|holder| (holder.balance, holder.address, holder.token_id));
                check_pages(&by_balance, |window| {
                    index.holders(self.node(), contract, HolderOrder::Balance, window).unwrap()
                });
            }
        }
    }
}

fn check_pages<T: Clone + core::fmt::Debug + PartialEq>(wanted: &[T], page: impl Fn(ListWindow) -> (Vec<T>, u64)) {
    let mut backwards = wanted.to_vec();
    backwards.reverse();
    for (order, wanted) in [(Order::Ascending, wanted), (Order::Descending, &backwards[..])] {
        for limit in [3, u64::MAX] {
            let (mut found, mut skipped) = (Vec::new(), 0);
            loop {
                let (items, total) = page(ListWindow { skipped, limit, order });
                assert_eq!(total, wanted.len() as u64);
                if items.is_empty() {
                    break;
                }
                assert!(items.len() as u64 <= limit);
                skipped += items.len() as u64;
                found.extend(items);
            }
            assert_eq!(found, wanted);
        }
    }
}

/// A transfer, by the events alone.
#[derive(Clone, Debug, PartialEq)]
struct Walked {
    from: Address,
    to: Address,
    id: Option<U256>,
    amount: U256,
    place: (u64, B256, u32),
}

impl Walked {
    fn of(transfer: &TokenTransfer) -> Self {
        Self {
            from: transfer.from,
            to: transfer.to,
            id: transfer.token_id,
            amount: transfer.amount,
            place: (transfer.height.get(), transfer.transaction_hash, transfer.log_index),
        }
    }
}

/// Reads the transfers of a contract out of all events of the chain.
fn walk(node: &Node, contract: Address, standard: TokenStandard) -> Vec<Walked> {
    let view = node.view();
    let filter = LogFilter { from: Height::GENESIS, to: view.head().height(), ..LogFilter::default() };
    let logs = view.logs(&filter.with_addresses(vec![contract]), 100_000).unwrap();
    let mut found = Vec::new();
    for located in logs {
        let place = (located.height.get(), located.transaction_hash, located.log_index);
        let data = &located.log.data;
        let mut add = |from, to, id, amount| found.push(Walked { from, to, id, amount, place });
        match standard {
            TokenStandard::Erc721 => {
                if let Ok(it) = erc721::Transfer::decode_log_data(data) {
                    add(it.from, it.to, Some(it.tokenId), U256::ONE);
                }
            }
            TokenStandard::Erc1155 => {
                if let Ok(it) = erc1155::TransferSingle::decode_log_data(data) {
                    add(it.from, it.to, Some(it.id), it.value);
                } else if let Ok(it) = erc1155::TransferBatch::decode_log_data(data) {
                    it.ids.iter().zip(&it.values).for_each(|(id, value)| add(it.from, it.to, Some(*id), *value));
                }
            }
            _ => {
                if let Ok(it) = erc20::Transfer::decode_log_data(data) {
                    add(it.from, it.to, None, it.value);
                }
            }
        }
    }
    found
}

fn held(transfers: &[Walked], by_id: bool) -> Vec<Holder> {
    let mut balances: BTreeMap<(Address, Option<U256>), U256> = BTreeMap::new();
    for Walked { from, to, id, amount, .. } in transfers {
        let id = id.filter(|_| by_id);
        if !from.is_zero() {
            *balances.entry((*from, id)).or_default() -= *amount;
        }
        if !to.is_zero() {
            *balances.entry((*to, id)).or_default() += *amount;
        }
    }
    let held = balances.into_iter().filter(|(_, balance)| !balance.is_zero());
    held.map(|((address, token_id), balance)| Holder { address, token_id, balance }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_index_of_tokens_says_what_the_events_say(steps in vec(step(), 1..40)) {
        let mut world = World::new();
        for step in &steps {
            world.apply(step);
        }
        world.check();
    }
}

/// Rows of a chain that was made without the index are built when it is opened, and taken from where they end.
#[test]
fn a_chain_of_a_former_version_gets_its_index_when_it_is_opened() {
    let world = World::new();
    let node = world.node();
    for to in [1, 2, 3] {
        world.node().send_request(world.call(&Step::Fungible { by: 0, to, amount: 5, kind: 2 }).unwrap()).unwrap();
    }
    let read = |index: &TokenIndex| index.transfers(node, world.contracts[0], ALL).unwrap();
    let wanted = read(&world.hooked);
    assert_eq!(wanted.1, 4);
    // A store without rows, as of a former version.
    let (without, opened) = {
        let rows = Arc::new(MemoryStore::default());
        (rows.clone(), TokenIndex::stored(rows))
    };
    opened.open(node);
    assert_eq!(read(&opened), wanted);
    let marker = without.get(crate::store::Table::Platform, b"tokens/newest").unwrap();
    assert_eq!(marker, world.store.get(crate::store::Table::Platform, b"tokens/newest").unwrap());
    // Opened again at a later head: what is there is not built twice.
    node.send_request(world.call(&Step::Fungible { by: 0, to: 1, amount: 5, kind: 2 }).unwrap()).unwrap();
    let again = TokenIndex::stored(without);
    again.open(node);
    assert_eq!(read(&again), read(&world.hooked));
    assert_eq!(read(&again).1, 5);
}

/// Pages of a token with more than 100,000 transfers, which one walk of its events did not read. It takes some ten seconds, for each
/// transfer is an event of a call, 500 in a transaction, which is what fits into 128 KiB.
#[test]
fn pages_of_a_token_with_more_than_a_hundred_thousand_transfers() {
    const CALLS: u64 = 500;
    const TRANSACTIONS: u64 = 201;
    let world = World::new();
    let (node, token) = (world.node(), world.contracts[0]);
    let owner = node.accounts()[0];
    let send = |to: Address, input: Vec<u8>| {
        let gas = crate::primitives::Gas::new(16_000_000);
        node.send_request(CallRequest::call(to, input).with_from(owner).with_gas(gas)).unwrap();
    };
    let supply = U256::from(CALLS * TRANSACTIONS);
    send(token, erc20::mintCall { to: MULTICALL3_ADDRESS, amount: supply }.abi_encode());
    for round in 0..TRANSACTIONS {
        let to = Address::with_last_byte(round as u8 + 1);
        let call_data = Bytes::from(erc20::transferCall { to, value: U256::ONE }.abi_encode());
        let calls = vec![multicall::Call { target: token, callData: call_data }; CALLS as usize];
        send(MULTICALL3_ADDRESS, multicall::aggregateCall { calls }.abi_encode());
    }
    let total = CALLS * TRANSACTIONS + 2;
    let in_memory = world.platform.default_blockchain().unwrap().token_index();
    for index in [&*world.hooked, in_memory] {
        let page = |skipped, order| index.transfers(node, token, ListWindow { skipped, limit: 100, order }).unwrap();
        let (first, found) = page(0, Order::Ascending);
        assert_eq!((first.len(), found), (100, total));
        assert_eq!((first[1].to, first[1].amount), (MULTICALL3_ADDRESS, supply));
        let (newest, _) = page(0, Order::Descending);
        assert!(newest.iter().all(|one| one.to == Address::with_last_byte(TRANSACTIONS as u8)));
        let (last, _) = page(total - 7, Order::Ascending);
        assert_eq!((last.len(), last.last()), (7, newest.first()));
        assert_eq!(page(total, Order::Ascending), (Vec::new(), total));
        let window = ListWindow { skipped: 200, limit: 100, order: Order::Descending };
        let (holders, found) = index.holders(node, token, HolderOrder::Balance, window).unwrap();
        // The multicall has given all away; the owner has the first supply.
        assert_eq!((holders.len(), found), (2, TRANSACTIONS + 1));
        assert_eq!(holders[1].balance, U256::from(50));
    }
}

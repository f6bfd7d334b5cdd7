//! Building, inserting, reorgs, finality, interventions, snapshots, retention, receipts.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::fixture::*;
use crate::{
    chain::{
        Block, BlockError, Chain, ExecutionCache, GenesisSpec, HeadError, InsertError, InsertOutcome, Intervention,
        InterventionError, InvalidBlock, InvalidTransaction, ReadError, Retention,
    },
    primitives::{Height, ether},
    state::MemoryState,
    store::MemoryStore,
};

const BOB: Address = Address::repeat_byte(0xb0);

#[test]
fn a_block_built_here_is_imported_elsewhere() {
    let (mut ours, mut theirs) = (chain(), chain());
    assert_eq!(ours.genesis().hash(), theirs.genesis().hash());
    let change = extend(&mut ours, vec![transfer(0, 0, BOB, 7), transfer(0, 1, BOB, 8), transfer(1, 0, BOB, 9)]);
    assert_eq!(change.applied.len(), 1);
    let block = change.new.block().clone();
    assert_eq!(theirs.insert(block.clone()).unwrap(), InsertOutcome::New);
    assert_eq!(theirs.insert(block.clone()).unwrap(), InsertOutcome::Known);
    assert_eq!(theirs.head().height(), Height::GENESIS, "inserting does not move the head");
    theirs.set_head(block.hash()).unwrap();
    assert_eq!(balance(&theirs, theirs.head(), BOB), U256::from(24));
    assert_eq!(theirs.head().receipts(), ours.head().receipts());
    let receipt = &ours.head().receipts()[2];
    assert_eq!((receipt.gas_used, receipt.cumulative_gas_used()), (gas(21_000), gas(63_000)));
    // The base fee fell by an eighth of 10^9 after an empty genesis block; the tip is 10^9.
    assert_eq!(receipt.effective_gas_price, 875_000_000 + 1_000_000_000);
    let author = balance(&ours, ours.head(), Address::repeat_byte(0xfe));
    assert_eq!(author, U256::from(63_000_u64 * 1_000_000_000), "the base fee is burned");
    assert_eq!(ours.next_base_fee(), theirs.next_base_fee());
}

/// The hash covers the header alone, so whoever relays a block can give it another body.
#[test]
fn another_body_under_a_known_hash_is_refused() {
    let (mut ours, mut theirs) = (chain(), chain());
    let block = extend(&mut ours, vec![transfer(0, 0, BOB, 7)]).new.block().clone();
    assert_eq!(theirs.insert(block.clone()).unwrap(), InsertOutcome::New);
    let (header, transactions) = (block.header().clone(), block.transactions().to_vec());
    let forged = Intervention::Balance { address: BOB, balance: U256::MAX };
    let others = [
        ("transactions", Block::new(header.clone(), Vec::new(), Bytes::new(), Vec::new())),
        ("payloads", Block::new(header.clone(), transactions.clone(), vec![1].into(), Vec::new())),
        ("interventions", Block::new(header, transactions, Bytes::new(), vec![forged])),
    ];
    for is_head in [false, true] {
        if is_head {
            theirs.set_head(block.hash()).unwrap();
        }
        for (want, other) in others.clone() {
            assert_eq!(other.hash(), block.hash());
            let error = theirs.insert(Arc::new(other.with_seal(vec![1]))).unwrap_err();
            assert!(matches!(error, InsertError::OtherBody { hash, part } if hash == block.hash() && part == want));
        }
        let resealed = block.as_ref().clone().with_seal(vec![2]);
        assert_eq!(
            theirs.insert(Arc::new(resealed)).unwrap(),
            InsertOutcome::Known,
            "the hash does not cover the seal"
        );
    }
    assert_eq!(theirs.block(block.hash()).unwrap().block().transactions().len(), 1);
}

#[test]
fn candidates_that_cannot_run_are_left_out_with_the_reason() {
    let chain = chain();
    let poor = Arc::new(request(0, BOB, 1).sign(&key(9)).unwrap());
    let candidates = vec![transfer(0, 1, BOB, 1), transfer(0, 0, BOB, 1), transfer(0, 0, BOB, 2), poor];
    let built = build_on(&chain, chain.head().hash(), 1, candidates);
    assert_eq!(built.block.transactions().len(), 1);
    let words: Vec<_> = built.left_out.iter().map(|(_, reason)| reason.to_string()).collect();
    assert!(words[0].starts_with("nonce too high: "), "{words:?}");
    assert!(words[1].starts_with("nonce too low: "), "{words:?}");
    assert!(words[2].starts_with("insufficient funds for gas * price + value: "), "{words:?}");
}

#[test]
fn a_full_block_leaves_the_rest_for_the_next() {
    let mut chain = builder_of(GenesisSpec { gas_limit: gas(50_000), ..spec() }).open().unwrap();
    let candidates: Vec<_> = (0..3).map(|nonce| transfer(0, nonce, BOB, 1)).collect();
    let built = build_on(&chain, chain.head().hash(), 1, candidates.clone());
    assert_eq!(built.block.transactions().len(), 2);
    adopt(&mut chain, built.block);
    extend(&mut chain, candidates[2..].to_vec());
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(3));
}

#[test]
fn a_reorg_lists_reverted_and_applied_blocks() {
    let mut chain = chain();
    let genesis = chain.head().hash();
    let (one, two) = (transfer(0, 0, BOB, 1), transfer(0, 1, BOB, 2));
    extend(&mut chain, vec![one.clone()]);
    extend(&mut chain, vec![two.clone()]);
    let old_head = chain.head().clone();

    let mut parent = genesis;
    let mut side = Vec::new();
    for timestamp in 10..13 {
        let transactions = if timestamp == 10 { vec![one.clone(), transfer(1, 0, BOB, 5)] } else { Vec::new() };
        let built = build_on(&chain, parent, timestamp, transactions);
        parent = built.block.hash();
        chain.insert(Arc::new(built.block)).unwrap();
        side.push(parent);
    }
    let change = chain.set_head(parent).unwrap();
    assert!(change.is_reorg());
    assert_eq!(change.reverted.iter().map(|b| b.height().get()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(change.applied.iter().map(|b| b.hash()).collect::<Vec<_>>(), side);
    assert!(!chain.is_canonical(old_head.hash()) && chain.is_canonical(side[0]));
    assert!(chain.contains(old_head.hash()));
    assert!(chain.transaction(two.hash()).unwrap().is_none(), "no longer canonical");
    let place = chain.transaction(one.hash()).unwrap().unwrap();
    assert_eq!((place.block.hash(), place.index), (side[0], 0));
    assert_eq!(place.transaction().unwrap().hash(), one.hash());
    assert_eq!(chain.receipt(one.hash()).unwrap().as_ref(), place.receipt());
    assert_eq!(chain.receipt(two.hash()).unwrap(), None, "no longer canonical");
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(6));
    assert_eq!(balance(&chain, &old_head, BOB), U256::from(3), "the other branch can still be read");
}

#[test]
fn finality_drops_side_blocks_and_forbids_going_back() {
    let mut chain = chain();
    let side = build_on(&chain, chain.head().hash(), 50, vec![]).block;
    chain.insert(Arc::new(side.clone())).unwrap();
    extend(&mut chain, vec![]);
    extend(&mut chain, vec![]);
    let (first, head) = (chain.hash_at(Height::new(1)).unwrap(), chain.head().hash());
    chain.set_finality(head, first).unwrap();
    assert_eq!((chain.safe().hash(), chain.finalized().hash()), (head, first));
    assert!(!chain.contains(side.hash()));
    assert!(matches!(chain.set_head(chain.genesis().hash()), Err(HeadError::BelowFinality { .. })));
    assert!(matches!(chain.set_finality(head, chain.genesis().hash()), Err(HeadError::BelowFinality { .. })));
    assert!(matches!(chain.set_finality(side.hash(), first), Err(HeadError::Read(ReadError::UnknownBlock { .. }))));
    assert_eq!(chain.head().hash(), head);
}

#[test]
fn advisory_finality_moves_back_to_the_irreversible_height() {
    let mut chain = chain();
    extend(&mut chain, vec![]);
    let first = chain.head().hash();
    let side = build_on(&chain, first, 50, vec![]).block;
    chain.insert(Arc::new(side.clone())).unwrap();
    extend(&mut chain, vec![]);
    let second = chain.head().hash();
    extend(&mut chain, vec![]);
    chain.set_advisory_finality(chain.head().hash(), second, Height::new(1)).unwrap();
    assert!(chain.contains(side.hash()));
    chain.set_head(side.hash()).unwrap();
    assert_eq!((chain.safe().hash(), chain.finalized().hash()), (first, first), "where the branches part");
    assert!(matches!(chain.set_head(chain.genesis().hash()), Err(HeadError::BelowFinality { .. })));
    assert!(matches!(chain.set_finality(second, first), Err(HeadError::BelowFinality { .. })), "not canonical now");
}

#[test]
fn interventions_apply_at_once_and_on_every_replica() {
    let (mut ours, mut theirs) = (chain(), chain());
    let slot = U256::from(3);
    for intervention in [
        Intervention::Balance { address: BOB, balance: ether(5) },
        Intervention::Nonce { address: BOB, nonce: 7 },
        Intervention::Storage { address: BOB, slot, value: U256::from(9) },
        Intervention::Code { address: Address::repeat_byte(1), code: vec![0xef, 1].into() },
        Intervention::BaseFee { per_gas: 123 },
        Intervention::GasLimit { gas: gas(12_000_000) },
    ] {
        ours.intervene(intervention).unwrap();
    }
    assert_eq!(ours.latest_state().unwrap().account(&BOB).unwrap().unwrap().balance, ether(5));
    assert_eq!(balance(&ours, ours.head(), BOB), U256::ZERO, "the head itself is unchanged");
    assert_eq!(ours.next_base_fee(), Some(123));
    extend(&mut ours, vec![]);
    assert_eq!(ours.pending_interventions().count(), 0);
    let block = ours.head().block().clone();
    assert_eq!((block.base_fee(), block.header().gas_limit), (Some(123), 12_000_000));
    theirs.insert(block.clone()).unwrap();
    theirs.set_head(block.hash()).unwrap();
    let state = theirs.latest_state().unwrap();
    assert_eq!(state.account(&BOB).unwrap().unwrap().nonce, 7);
    assert_eq!(state.storage(&BOB, &slot).unwrap(), U256::from(9));
    // The gas limit stays; the base fee follows EIP-1559 again.
    extend(&mut ours, vec![]);
    assert_eq!(ours.head().block().header().gas_limit, 12_000_000);
    assert_eq!(ours.head().block().base_fee(), Some(123 - 123 / 8));
}

#[test]
fn a_production_chain_rejects_interventions_and_unsigned_transactions() {
    let strict = || builder_of(GenesisSpec { allow_interventions: false, ..spec() }).open().unwrap();
    let mut chain = strict();
    let refused = chain.intervene(Intervention::Nonce { address: BOB, nonce: 1 }).unwrap_err();
    assert!(matches!(
        refused,
        InterventionError::Invalid(InvalidBlock { reason: BlockError::Interventions { count: 1 }, .. })
    ));
    let impersonated = Arc::new(request(0, BOB, 1).impersonate(key(0).address()).unwrap());
    let built = build_on(&chain, chain.head().hash(), 1, vec![impersonated]);
    assert_eq!(built.left_out[0].1, InvalidTransaction::Impersonated);
}

#[test]
fn replicas_share_one_execution_and_paranoid_ones_compare() {
    for paranoid in [false, true] {
        let cache = ExecutionCache::new();
        let mut first = builder().with_cache(cache.clone()).with_paranoid(paranoid).open().unwrap();
        let mut second = first.detached();
        extend(&mut first, vec![transfer(0, 0, BOB, 1)]);
        let block = first.head().block().clone();
        second.insert(block.clone()).unwrap();
        second.set_head(block.hash()).unwrap();
        let same_version = second.head().commit().id == first.head().commit().id;
        assert_eq!(same_version, !paranoid);
        assert_eq!(second.head().commit().root, first.head().commit().root);
        assert_eq!(cache.len(), 1);
        first.set_finality(block.hash(), block.hash()).unwrap();
    }
}

#[test]
fn a_snapshot_restores_everything() {
    let mut chain = chain();
    extend(&mut chain, vec![transfer(0, 0, BOB, 1)]);
    chain.intervene(Intervention::Balance { address: BOB, balance: ether(1) }).unwrap();
    let snapshot = chain.clone();
    let mined = transfer(0, 1, BOB, 1);
    extend(&mut chain, vec![mined.clone()]);
    extend(&mut chain, vec![]);
    let head = chain.head().hash();
    chain.set_finality(head, head).unwrap();
    let change = chain.restore(&snapshot).unwrap();
    assert_eq!((change.reverted.len(), change.applied.len()), (2, 0));
    assert_eq!(chain.head().hash(), snapshot.head().hash());
    assert_eq!(chain.finalized().height(), Height::GENESIS);
    assert_eq!(chain.latest_state().unwrap().account(&BOB).unwrap().unwrap().balance, ether(1));
    assert!(chain.transaction(mined.hash()).unwrap().is_none());
    extend(&mut chain, vec![mined]);
    assert_eq!(balance(&chain, chain.head(), BOB), ether(1) + U256::from(1));
}

#[test]
fn retention_in_memory_prunes_and_frees_states() {
    let state = Arc::new(MemoryState::new());
    let retention = Retention::new(Some(3), Some(6));
    let builder = Chain::builder(spec(), state.clone(), Arc::new(MemoryStore::new()));
    let mut chain = builder.with_retention(retention).open().unwrap();
    let first = transfer(0, 0, BOB, 1);
    let mut hashes = vec![chain.head().hash()];
    for nonce in 0..40 {
        let transaction = if nonce == 0 { first.clone() } else { transfer(0, nonce, BOB, 1) };
        hashes.push(extend(&mut chain, vec![transaction]).new.hash());
        chain.set_finality(chain.head().hash(), chain.head().hash()).unwrap();
    }
    let oldest = |error: ReadError| match error {
        ReadError::Pruned { what, oldest, .. } => (what, oldest.get()),
        other => panic!("{other}"),
    };
    assert_eq!(oldest(chain.state_of(hashes[35]).unwrap_err()), ("state", 37));
    assert!(chain.state_of(hashes[37]).is_ok() && chain.state_of(hashes[0]).is_ok(), "genesis stays");
    assert_eq!(oldest(chain.block_at(Height::new(33)).unwrap_err()), ("block", 34));
    assert!(chain.block_at(Height::new(34)).is_ok());
    assert!(chain.transaction(first.hash()).unwrap().is_none());
    assert!(matches!(chain.block_at(Height::new(41)), Err(ReadError::UnknownHeight { .. })));
    // Genesis, the states kept, and those that the execution cache keeps for replicas behind.
    assert!(state.versions() <= 2 + 4 + 10, "{} versions", state.versions());
}

#[test]
fn retention_in_memory_is_bounded_in_bytes() {
    let retention = Retention::new(None, None).with_bytes(Some(200_000), Some(400_000));
    let mut chain = builder().with_retention(retention).open().unwrap();
    let unbounded = builder().with_retention(Retention::ALL).open().unwrap();
    let mut copies = [unbounded];
    let first = transfer(0, 0, BOB, 1);
    for block in 0..60_u64 {
        let transfers = (0..20).map(|number| {
            let nonce = block * 20 + number;
            let fresh = Address::left_padding_from(&(nonce + 1_000).to_be_bytes());
            if nonce == 0 { first.clone() } else { transfer(0, nonce, fresh, 1) }
        });
        let new = extend(&mut chain, transfers.collect()).new;
        let copy = &mut copies[0];
        copy.insert(new.block().clone()).unwrap();
        copy.set_head(new.hash()).unwrap();
        for chain in [&mut chain, copy] {
            chain.set_finality(new.hash(), new.hash()).unwrap();
        }
    }
    // What was final before the newest block decides.
    let slack = chain.head().block_bytes() + chain.head().state_bytes();
    let (blocks, states) = (chain.tree.block_bytes(), chain.tree.state_bytes());
    assert!((200_000..400_000 + slack).contains(&blocks), "{blocks} bytes of blocks");
    assert!((100_000..200_000 + slack).contains(&states), "{states} bytes of states");
    assert!(copies[0].tree.block_bytes() > 2 * blocks && copies[0].tree.state_bytes() > 2 * states);
    assert!(matches!(chain.block_at(Height::new(1)), Err(ReadError::Pruned { what: "block", .. })));
    assert!(chain.transaction(first.hash()).unwrap().is_none());
    let oldest = chain.block_at(chain.oldest_block()).unwrap();
    assert!(matches!(chain.state_of(oldest.hash()), Err(ReadError::Pruned { what: "state", .. })));
    assert!(chain.state_of(chain.genesis().hash()).is_ok() && chain.latest_state().is_ok());
    // The sums are those of what is there.
    let sum = |tree: &super::super::tree::Tree, heights: core::ops::RangeInclusive<u64>| {
        let blocks =
            heights.filter_map(|height| tree.get_at(Height::new(height), tree.canonical(Height::new(height))?));
        blocks.map(|block| block.block_bytes()).sum::<u64>()
    };
    assert_eq!(sum(&chain.tree, 0..=60), blocks);
}

#[test]
fn reversible_blocks_are_kept_beyond_every_bound() {
    const LAG: u64 = 7;
    let retention = Retention::new(Some(1), Some(2)).with_bytes(Some(1), Some(1));
    let mut chain = builder().with_retention(retention).open().unwrap();
    for nonce in 0..40_u64 {
        let head = extend(&mut chain, vec![transfer(0, nonce, BOB, 1)]).new.hash();
        let irreversible = Height::new(nonce + 1).get().saturating_sub(LAG);
        chain.set_advisory_finality(head, head, Height::new(irreversible)).unwrap();
        // Pruning follows the irreversible height of before the newest block, and keeps that block.
        let oldest = irreversible.saturating_sub(1).max(1);
        assert_eq!(chain.oldest_block().get(), oldest);
        let block =
            |height| chain.tree.get_at(Height::new(height), chain.hash_at(Height::new(height)).unwrap()).unwrap();
        let kept = || core::iter::once(0).chain(oldest..=nonce + 1).map(block);
        assert_eq!(chain.tree.block_bytes(), kept().map(|block| block.block_bytes()).sum::<u64>());
        assert_eq!(chain.tree.state_bytes(), kept().map(|block| block.state_bytes()).sum::<u64>());
        assert!(kept().all(|block| block.has_state()));
    }
}

#[test]
fn a_snapshot_below_the_pruned_blocks_is_restored() {
    let mut chain = builder().with_retention(Retention::new(Some(3), Some(6))).open().unwrap();
    extend(&mut chain, vec![transfer(0, 0, BOB, 1)]);
    let snapshot = chain.clone();
    for nonce in 1..40 {
        extend(&mut chain, vec![transfer(0, nonce, BOB, 1)]);
        chain.set_finality(chain.head().hash(), chain.head().hash()).unwrap();
    }
    assert!(chain.block(snapshot.head().hash()).is_err(), "it is pruned");
    let change = chain.restore(&snapshot).unwrap();
    assert!((6..40).contains(&change.reverted.len()) && change.applied.is_empty());
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(1));
    extend(&mut chain, vec![transfer(0, 1, BOB, 5)]);
    assert_eq!(balance(&chain, chain.head(), BOB), U256::from(6));
}

#[test]
fn long_chains_neither_recurse_nor_slow_down() {
    let mut chain = chain();
    for _ in 0..3_000 {
        extend(&mut chain, vec![]);
    }
    assert_eq!(chain.block_at(Height::new(1_500)).unwrap().height().get(), 1_500);
    let start = chain.genesis().hash();
    let change = chain.set_head(start).unwrap();
    assert_eq!((change.reverted.len(), chain.head().hash()), (3_000, start));
    assert_eq!(chain.block(B256::ZERO).unwrap_err().to_string(), format!("unknown block {}", B256::ZERO));
}

#[test]
fn a_result_on_another_copy_of_the_parent_is_not_used() {
    let (cache, state, store) = (ExecutionCache::new(), Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()));
    let open = || Chain::builder(spec(), state.clone(), store.clone()).with_cache(cache.clone()).open().unwrap();
    let (mut first, mut second) = (open(), open());
    assert_ne!(first.genesis().commit().id, second.genesis().commit().id);
    let block = extend(&mut first, vec![transfer(0, 0, BOB, 1)]).new.block().clone();
    second.insert(block.clone()).unwrap();
    second.set_head(block.hash()).unwrap();
    assert_ne!(first.head().commit().id, second.head().commit().id);
    assert_eq!(first.head().commit().root, second.head().commit().root);
}

#[test]
fn a_token_can_be_part_of_genesis() {
    let params = |json: serde_json::Value| json.as_object().unwrap().clone();
    let owner = key(0).address();
    let least =
        params(serde_json::json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000", "features": ["mintable"] }));
    let token = Address::repeat_byte(5);
    let contract = crate::chain::GenesisContract {
        deployer: owner,
        ..crate::chain::GenesisContract::new(token, "erc20-token", least.clone())
    };
    let with = |contract| builder_of(GenesisSpec { contracts: vec![contract], ..spec() }).open();
    let chain = with(contract.clone()).unwrap();
    let account = chain.latest_state().unwrap().account(&token).unwrap().unwrap();
    assert_eq!(chain.latest_state().unwrap().code(&account.code_hash).unwrap()[..2], [0xef, 0xcb]);
    assert_ne!(chain.genesis().hash(), super::fixture::chain().genesis().hash());

    let balance = crate::vm::mapping_slot(owner.into_word().into(), U256::ZERO);
    assert_eq!(
        chain.latest_state().unwrap().storage(&token, &balance).unwrap(),
        U256::from(1_000),
        "the deployer owns it"
    );

    let failing = |contract| with(contract).unwrap_err().to_string();
    let words = failing(crate::chain::GenesisContract { template: "gold".into(), ..contract.clone() });
    assert!(words.contains("there is no template \"gold\"; known: ") && words.contains("erc20-token"), "{words}");
    let words = failing(crate::chain::GenesisContract { params: Default::default(), ..contract.clone() });
    for name in ["name", "symbol"] {
        assert!(words.contains(&format!("{name}: nothing, expected a non-empty string")), "{words}");
    }
    let unknown = params(serde_json::json!({ "name": "Gold", "symbol": "GLD", "colour": "red" }));
    let words = failing(crate::chain::GenesisContract { params: unknown, ..contract.clone() });
    assert!(words.contains("colour: \"red\", expected no field of this name"), "{words}");
    let nobody = Address::ZERO;
    let words = failing(crate::chain::GenesisContract { deployer: nobody, ..contract.clone() });
    assert!(words.contains("erc20-token: owner is missing, and the contract has no `deployer`"), "{words}");
    let mut owned = least;
    owned.insert("owner".into(), serde_json::json!(owner));
    assert!(with(crate::chain::GenesisContract { deployer: nobody, params: owned, ..contract }).is_ok());
}

#[test]
fn london_begins_at_its_height() {
    let forks = crate::chain::Forks::LondonAt(Some(Height::new(2)));
    let mut chain = builder_of(GenesisSpec { forks, ..spec() }).open().unwrap();
    assert_eq!((chain.genesis().block().base_fee(), chain.next_base_fee()), (None, None));
    let typed = transfer(0, 0, BOB, 1);
    let built = build_on(&chain, chain.head().hash(), 1, vec![typed.clone()]);
    assert_eq!(built.left_out[0].1, InvalidTransaction::TypeNotActive { ty: 2 });
    let legacy = crate::primitives::TransactionRequest { gas_price: Some(1), ..request(0, BOB, 1) };
    extend(&mut chain, vec![Arc::new(legacy.sign(&key(1)).unwrap())]);
    extend(&mut chain, vec![typed]);
    assert_eq!(chain.head().block().base_fee(), Some(1_000_000_000), "the first base fee is the initial one");
    let off = builder_of(GenesisSpec { base_fee: crate::chain::BaseFee::Off, ..spec() }).open().unwrap();
    let built = build_on(&off, off.head().hash(), 1, vec![transfer(0, 0, BOB, 1)]);
    // From Shanghai on the header can't do without the field.
    assert_eq!((built.block.base_fee(), built.block.transactions().len()), (Some(0), 1));
    let spec =
        GenesisSpec { base_fee: crate::chain::BaseFee::Off, ..spec().with_hardfork(crate::chain::Hardfork::Paris) };
    let off = builder_of(spec).open().unwrap();
    assert_eq!(build_on(&off, off.head().hash(), 1, vec![]).block.base_fee(), None);
}

#[test]
fn a_builder_moves_the_gas_limit_step_by_step() {
    let mut chain = chain();
    let target = 29_000_000;
    for number in 1..40 {
        let attributes = crate::chain::BlockAttributes { gas_limit: Some(gas(target)), ..attributes(number) };
        let block = chain.build(chain.head().hash(), &attributes, &mut Vec::new().into_iter()).unwrap().block;
        adopt(&mut chain, block);
    }
    assert_eq!(chain.head().block().header().gas_limit, target);
    let first = chain.block_at(Height::new(1)).unwrap().block().header().gas_limit;
    assert_eq!(first, 30_000_000 - (30_000_000 / 1_024 - 1));
}

//! Nodes of the replicas of a shared network.

use core::time::Duration;

use serde_json::json;

use crate::{
    chain::{CallRequest, GenesisContract, GenesisSpec, LogFilter},
    consensus::{ConsensusConfig, ConsensusKind, PbftConfig, ReplicaId},
    node::{
        BlockRef, Component, ContractError, EngineError, HeadCursor, MineError, Node, NodeEvent, SharedNetwork,
        Subscription,
    },
    primitives::{Address, B256, Height, U256, ether},
    sim::{Network, NetworkBuilder, default_sim_config},
    system::parameters::{
        PARAMETERS_ADDRESS, Parameter, ParametersSpec,
        interface::{Change, scheduleCall},
    },
    templates::{BATCH_ADDRESS, Batch, Erc20Params, erc20::interface::Erc20Token, governance_dao},
};

const LAST: ReplicaId = ReplicaId::new(3);

fn pbft() -> NetworkBuilder {
    let config = ConsensusConfig::Pbft(PbftConfig::default());
    Network::builder().with_consensus(config).with_validators(4).with_dev_accounts(3)
}

fn shared(builder: NetworkBuilder) -> SharedNetwork {
    builder.build().unwrap().share().unwrap()
}

fn run(network: &SharedNetwork, secs: u64) {
    network.lock().run_for(Duration::from_secs(secs)).unwrap();
}

fn balance(node: &Node, of: Address) -> U256 {
    node.view().balance(of, BlockRef::Latest).unwrap()
}

#[test]
fn a_replica_that_is_cut_off_shows_the_past_and_catches_up() {
    let network = shared(pbft());
    let (near, cut_off) = (network.node(ReplicaId::new(0)).unwrap(), network.node(LAST).unwrap());
    let [alice, bob, owner] = network.accounts().try_into().unwrap();
    assert_eq!(balance(&cut_off, alice), ether(10_000));
    let gold = near.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(100), owner).init_code()).unwrap();
    run(&network, 5);
    let deployed_at = cut_off.view().head().height();
    assert!(!cut_off.view().code(gold.address(), BlockRef::Latest).unwrap().is_empty());

    network.lock().partition(&[&[0, 1, 2].map(ReplicaId::new), &[LAST]]).unwrap();
    let paid = near.transfer(alice, bob, ether(1)).unwrap().transaction().hash();
    gold.send(Erc20Token::transferCall { to: bob, value: U256::from(7) }).unwrap();
    assert_eq!((balance(&near, bob), balance(&cut_off, bob)), (ether(10_001), ether(10_000)));
    let of_bob =
        |node: &Node| node.contract(gold.address(), bob).call(Erc20Token::balanceOfCall { account: bob }).unwrap();
    assert_eq!((of_bob(&near), of_bob(&cut_off)), (U256::from(7), U256::ZERO));
    let logs = |node: &Node| {
        let filter =
            LogFilter { to: node.view().head().height(), addresses: vec![gold.address()], ..LogFilter::default() };
        node.view().logs(&filter, 100).unwrap().len()
    };
    assert_eq!((logs(&near), logs(&cut_off)), (3, 2));
    assert!(near.receipt(paid).unwrap().is_some() && cut_off.receipt(paid).unwrap().is_none());
    assert_eq!(near.view().nonce(alice, BlockRef::Latest).unwrap(), 1);
    assert_eq!(cut_off.view().nonce(alice, BlockRef::Latest).unwrap(), 0);
    assert!(cut_off.view().head().height() <= deployed_at.next());

    network.lock().heal().unwrap();
    run(&network, 30);
    assert_eq!((balance(&cut_off, bob), of_bob(&cut_off), logs(&cut_off)), (ether(10_001), U256::from(7), 3));
    assert!(cut_off.receipt(paid).unwrap().is_some());
    let common = near.view().head().height().min(cut_off.view().head().height());
    let hash = |node: &Node| node.view().block(BlockRef::Number(common)).unwrap().hash();
    assert_eq!(hash(&near), hash(&cut_off));
}

/// By the parameter in force, not by that of genesis or the one that is scheduled.
#[test]
fn votes_in_days_are_counted_by_the_block_time_in_force() {
    let [owner, ..] = shared(pbft()).accounts().to_vec()[..] else { panic!("there are accounts") };
    let batch = GenesisContract::new(BATCH_ADDRESS, Batch::NAME, serde_json::Map::new());
    let genesis = GenesisSpec::new(1_337).with_balance(owner, ether(10)).with_contract(batch);
    let genesis = genesis.with_parameters(ParametersSpec::new(owner));
    let config = PbftConfig::default().with_period(Duration::from_secs(4)).with_checkpoints(2, 4);
    let network = shared(pbft().with_genesis(genesis).with_consensus(ConsensusConfig::Pbft(config)));
    let node = network.node(ReplicaId::new(0)).unwrap();
    let period = |node: &Node| {
        let components = Component::read_list(&json!([
            { "type": "governance", "config": { "name": "Council", "votingPeriod": "1d" } },
            { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9", "features": ["votes"] } },
        ]));
        let dapp = node.compose(owner, &components.unwrap()).unwrap();
        let council = node.contract(dapp.address("governance").unwrap(), owner);
        council.call(governance_dao::interface::votingPeriodCall {}).unwrap()
    };
    assert_eq!((node.view().block_time_secs().unwrap(), period(&node)), (Some(4), U256::from(21_600)));
    let change = Change { parameter: Parameter::BlockTime.code(), value: U256::from(10) };
    node.contract(PARAMETERS_ADDRESS, owner).send(scheduleCall { changes: vec![change] }).unwrap();
    run(&network, 60);
    assert_eq!((node.view().block_time_secs().unwrap(), period(&node)), (Some(10), U256::from(8_640)));
}

#[test]
fn what_the_minority_sends_waits_there_until_the_network_heals() {
    let network = shared(pbft());
    let (near, cut_off) = (network.node(ReplicaId::new(0)).unwrap(), network.node(LAST).unwrap());
    let (alice, bob) = (near.accounts()[0], near.accounts()[1]);
    run(&network, 3);
    network.lock().isolate(LAST).unwrap();
    let before = network.lock().now();
    let ContractError::NotMined { hash } = cut_off.transfer(alice, bob, ether(2)).unwrap_err() else {
        panic!("a minority of PBFT makes no block")
    };
    let passed = network.lock().now().as_nanos() - before.as_nanos();
    assert!(u128::from(passed) <= super::super::MINED_WITHIN_MAX.as_nanos());
    assert_eq!((cut_off.view().pool().len(), near.view().pool().len()), (1, 0));
    assert_eq!(cut_off.view().nonce(alice, BlockRef::Pending).unwrap(), 1);
    network.lock().heal().unwrap();
    // Nobody sends a lost transaction again but the replica that makes a block with it.
    for _ in 0..40 {
        if near.receipt(hash).unwrap().is_some() {
            break;
        }
        near.pass_time(Duration::from_secs(10)).unwrap();
    }
    assert_eq!(balance(&near, bob), ether(10_002));
}

/// Applies the head events that came to a list of hashes from genesis on; returns the number of events with removed blocks.
fn apply(events: &mut Subscription, hashes: &mut Vec<B256>) -> usize {
    let mut reorgs = 0;
    while let Ok(event) = events.try_next() {
        let NodeEvent::Head { removed, added, view } = event else { continue };
        reorgs += usize::from(!removed.is_empty());
        for block in removed.iter() {
            assert_eq!(hashes.pop(), Some(block.hash()));
        }
        for block in added.iter() {
            assert_eq!(hashes.last(), Some(&block.parent_hash()));
            hashes.push(block.hash());
        }
        assert_eq!(Some(&view.head().hash()), hashes.last());
    }
    reorgs
}

#[test]
fn the_events_of_each_replica_are_its_moves_of_the_head_reorgs_among_them() {
    let mut reorgs = 0;
    for kind in [ConsensusKind::Poa, ConsensusKind::Pos, ConsensusKind::Pbft] {
        let builder = Network::builder().with_consensus(default_sim_config(kind)).with_validators(4).with_seed(3);
        let network = shared(builder);
        let mut readers: Vec<_> = network
            .nodes()
            .iter()
            .map(|node| {
                let view = node.view();
                (node.subscribe(), vec![view.genesis_hash()], HeadCursor::at_head(&view), vec![view.genesis_hash()])
            })
            .collect();
        for round in 0..4_u32 {
            let half = [ReplicaId::new(round % 4), ReplicaId::new((round + 1) % 4)];
            let cut = network.lock().partition(&[&half]).unwrap();
            run(&network, 60);
            network.lock().end_fault(cut).unwrap();
            run(&network, 60);
            for (node, (events, hashes, cursor, seen)) in network.nodes().iter().zip(&mut readers) {
                reorgs += apply(events, hashes);
                assert_eq!(hashes.last(), Some(&node.view().head().hash()), "{kind:?}");
                let changes = cursor.advance(&node.view(), usize::MAX).unwrap();
                changes.removed.iter().for_each(|block| assert_eq!(seen.pop(), Some(block.hash())));
                seen.extend(changes.added.iter().map(crate::chain::ExecutedBlock::hash));
                assert_eq!(seen, hashes, "{kind:?}: a follower without a queue sees the same");
            }
        }
    }
    assert!(reorgs > 0, "some replica of proof of authority or of stake changed its branch");
}

#[test]
fn under_every_protocol_a_replica_takes_transfers_and_contracts_and_agrees_on_them() {
    for kind in ConsensusKind::ALL {
        let builder = Network::builder().with_consensus(default_sim_config(kind)).with_validators(4);
        let stakes = match kind {
            ConsensusKind::Pbft | ConsensusKind::Poa | ConsensusKind::Raft => None,
            _ => Some([32, 33, 34, 35].map(ether)),
        };
        let builder = stakes.into_iter().fold(builder, NetworkBuilder::with_stakes);
        let network = shared(builder.with_dev_accounts(2));
        let (alice, bob) = (network.accounts()[0], network.accounts()[1]);
        for node in network.nodes() {
            let before = balance(node, bob);
            node.transfer(alice, bob, ether(1)).unwrap();
            assert_eq!(balance(node, bob), before + ether(1), "{kind:?}");
            assert_eq!(node.view().pending_block().unwrap().height(), node.view().head().height().next(), "{kind:?}");
            run(&network, 20);
        }
        let gold = Erc20Params::new("Gold", "GLD", U256::from(100), alice).init_code();
        let gold = network.nodes()[3].deploy(alice, gold).unwrap();
        gold.send(Erc20Token::transferCall { to: bob, value: U256::from(7) }).unwrap();
        run(&network, 20);
        for node in network.nodes() {
            let of_bob = node.contract(gold.address(), bob).call(Erc20Token::balanceOfCall { account: bob });
            assert_eq!((of_bob.unwrap(), balance(node, bob)), (U256::from(7), ether(10_004)), "{kind:?}");
        }
    }
}

#[test]
fn the_smallest_network_with_every_default_takes_a_transfer() {
    let network = shared(Network::builder().with_dev_accounts(2));
    let node = &network.nodes()[0];
    let mut events = node.subscribe();
    let mined = node.transfer(node.accounts()[0], node.accounts()[1], ether(1)).unwrap();
    assert!(matches!(events.try_next(), Ok(NodeEvent::Pending(sent)) if sent.hash() == mined.transaction().hash()));
    assert!(matches!(events.try_next(), Ok(NodeEvent::Head { .. })));
    let none = shared(Network::builder());
    assert!(none.accounts().is_empty());
    let too_many = Network::builder().with_dev_accounts(100_001).build().unwrap_err();
    assert_eq!(too_many.to_string(), "network options: 100001 accounts asked for, at most 100000 are derived");
}

#[test]
fn two_halves_pay_the_same_money_and_one_payment_leaves_the_chain() {
    let builder = Network::builder().with_consensus(default_sim_config(ConsensusKind::Pos)).with_validators(4);
    let network = shared(builder.with_dev_accounts(1));
    let [left, right] = [0, 2].map(|replica| network.node(ReplicaId::new(replica)).unwrap());
    let (alice, [bob, carol]) = (left.accounts()[0], [0xb0, 0xca].map(Address::repeat_byte));
    let paid = |node: &Node| (balance(node, bob), balance(node, carol));
    run(&network, 10);
    let cut = network.lock().partition(&[&[0, 1].map(ReplicaId::new), &[2, 3].map(ReplicaId::new)]).unwrap();
    let events = [&left, &right].map(Node::subscribe);
    left.transfer(alice, bob, ether(1)).unwrap();
    right.transfer(alice, carol, ether(1)).unwrap();
    assert_eq!((paid(&left), paid(&right)), ((ether(1), U256::ZERO), (U256::ZERO, ether(1))));

    network.lock().end_fault(cut).unwrap();
    run(&network, 60);
    assert_eq!(paid(&left), paid(&right));
    assert_eq!(paid(&left).0 + paid(&left).1, ether(1));
    let mut removed_payments = 0;
    for mut events in events {
        while let Ok(event) = events.try_next() {
            let NodeEvent::Head { removed, .. } = event else { continue };
            removed_payments += removed.iter().map(|block| block.transactions().len()).sum::<usize>();
        }
    }
    assert!(removed_payments > 0, "a reorg that the clients of one side see");
}

#[test]
fn a_moment_gone_back_to_is_a_reorg_of_every_node() {
    let network = shared(pbft());
    run(&network, 3);
    let saved = network.lock().clone();
    let node = network.node(LAST).unwrap();
    let before = node.view().head().hash();
    let (mut events, mut hashes) = (node.subscribe(), Vec::new());
    for height in 0..=node.view().head().height().get() {
        hashes.push(node.view().block(BlockRef::Number(Height::new(height))).unwrap().hash());
    }
    run(&network, 4);
    *network.lock() = saved;
    assert_eq!(node.view().head().hash(), before);
    assert_eq!((apply(&mut events, &mut hashes), hashes.last()), (1, Some(&before)));
}

#[test]
fn commands_of_a_development_node_are_refused_and_change_nothing() {
    let network = shared(pbft());
    let node = network.node(ReplicaId::new(1)).unwrap();
    run(&network, 2);
    let (head, now) = (node.view().head().hash(), node.now());
    assert!(matches!(node.mine(1), Err(MineError::Engine(EngineError::SharedNetwork))));
    assert!(node.set_mining(crate::node::Mining::EachTransaction).is_err());
    assert!(node.set_balance(Address::ZERO, U256::from(1)).is_err());
    assert!(node.set_time(now.saturating_add_secs(9)).is_err() && node.set_next_block_timestamp(now).is_err());
    assert!(node.reorg(1, []).is_err() && node.rollback(1).is_err() && node.reset().is_err() && node.dump().is_err());
    let snapshot = node.snapshot();
    assert!(node.revert(snapshot).is_err());
    assert_eq!(node.increase_time(Duration::from_secs(60)).as_secs(), 0);
    node.set_block_timestamp_interval(Some(Duration::from_secs(60)));
    assert_eq!((node.view().head().hash(), node.now()), (head, now));
    let error = node.mine(1).unwrap_err().to_string();
    assert!(error.contains("SharedNetwork::lock"), "{error}");
}

#[test]
fn impersonated_senders_send_through_their_replica_where_genesis_allows_it() {
    let nobody = Address::repeat_byte(0x5e);
    let genesis = GenesisSpec { allow_interventions: true, ..GenesisSpec::new(9) }.with_balance(nobody, ether(3));
    let network = shared(pbft().with_genesis(genesis));
    let node = network.node(ReplicaId::new(2)).unwrap();
    let request = CallRequest::call(Address::repeat_byte(0x11), vec![]).with_from(nobody).with_value(ether(1));
    assert!(node.send_request(request.clone()).is_err());
    node.impersonate(nobody).unwrap();
    let mined = node.send_and_mine(request).unwrap();
    assert!(mined.is_success() && mined.transaction().is_impersonated());
    run(&network, 5);
    assert_eq!(balance(&network.nodes()[0], Address::repeat_byte(0x11)), ether(1));
    assert!(network.node(ReplicaId::new(4)).is_err());
}

#[test]
fn a_thread_that_has_locked_the_network_is_told_before_it_waits_for_itself() {
    let network = shared(pbft());
    let node = network.node(LAST).unwrap();
    let lock = network.lock();
    let locked_twice = std::panic::catch_unwind(|| node.increase_time(Duration::from_secs(1)));
    let message = locked_twice.unwrap_err();
    assert!(message.downcast_ref::<&str>().unwrap().contains("drop what SharedNetwork::lock returned"));
    assert_eq!(node.view().head().height(), Height::GENESIS, "reading takes no lock");
    drop(lock);
    node.increase_time(Duration::from_secs(1));
    std::thread::scope(|scope| {
        let lock = network.lock();
        let other = scope.spawn(|| node.snapshot());
        drop(lock);
        other.join().unwrap();
    });
}

#[test]
fn the_view_of_a_plain_network_is_a_replicas() {
    let mut network = pbft().build().unwrap();
    let bob = network.accounts().nth(1).unwrap();
    network.run_for(Duration::from_secs(3)).unwrap();
    network.isolate(LAST).unwrap();
    network.run_for(Duration::from_secs(20)).unwrap();
    let (first, last) = (network.view(ReplicaId::new(0)).unwrap(), network.view(LAST).unwrap());
    assert!(first.head().height() > last.head().height());
    assert_eq!(last.balance(bob, BlockRef::Latest).unwrap(), ether(10_000));
    assert_eq!(last.now(), network.timestamp());
    assert!(network.view(ReplicaId::new(4)).is_err());
}

//! Validators that are stopped and started in real time: what the blocks report, what the staking contract counts.

use super::{pacing::Paced, *};
use crate::{
    consensus::{
        BlockId, ConsensusConfig, Purpose, ReplicaId,
        pbft::{Body, Certificate, Payload, PbftConfig, Seal},
    },
    primitives::{Address, Bytes, Height, Timestamp},
    system::staking::{StakingParams, ValidatorRecord, ValidatorStatus},
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A block every three seconds. A validator is jailed for more than half a window of absences.
fn network(validators: u32, downtime_window: u32) -> NetworkBuilder {
    let pbft = PbftConfig::default().with_period(SECOND * 3).with_reported_absences();
    let consensus = ConsensusConfig::Pbft(pbft);
    let staking = StakingParams { downtime_window, downtime_min_signed_ppm: 500_000, ..StakingParams::default() };
    Network::builder()
        .with_invariants(invariant::of_protocol(&consensus))
        .with_consensus(consensus)
        .with_validators(validators)
        .with_staking(staking)
        .with_timestamp(Timestamp::from_secs(super::pacing::BEGAN.as_secs()))
}

/// Heights of the blocks that report a validator absent, and of those whose certificate lacks its signature.
fn absences(network: &Network, validator: Address) -> (Vec<u64>, Vec<u64>) {
    let chain = network.primary().chain();
    let (mut reports, mut unsigned) = (Vec::new(), Vec::new());
    for height in 1..=chain.head().height().get() {
        let executed = chain.block_at(Height::new(height)).unwrap();
        let block = executed.block();
        if Payload::decode(block.payload()).unwrap().absent.contains(&validator) {
            reports.push(height);
        }
        let Certificate { view, signatures } = Seal::certificate(block.seal()).unwrap();
        let signed = Body::Commit { view, block: BlockId::of(block) }.signing_hash();
        let signs = |seal: &Bytes| network.authenticator().author(Purpose::Message, signed, seal).unwrap() == validator;
        if !signatures.iter().any(signs) {
            unsigned.push(height);
        }
    }
    (reports, unsigned)
}

fn record(network: &Network, validator: Address) -> ValidatorRecord {
    network.validators().unwrap().into_iter().find(|record| record.address == validator).unwrap()
}

/// Blocks that a validator missed, by the staking contract.
fn missed(network: &Network, validator: Address) -> u64 {
    let record = record(network, validator);
    assert_eq!(record.status, ValidatorStatus::Bonded);
    record.stake.unwrap().missed_blocks
}

/// Ten minutes of a block every three seconds, of which one validator is stopped for two and a half: the primary of the first view, or
/// another.
#[test]
fn the_contract_counts_the_blocks_that_a_stopped_validator_missed() {
    for is_primary in [false, true] {
        // The window is longer than the run.
        let mut paced = Paced::new(network(4, 256));
        let primary = paced.network.round_status(ReplicaId::new(0)).unwrap().leader.unwrap();
        let victim = if is_primary { primary } else { ReplicaId::new((primary.get() + 1) % 4) };
        let address = paced.network.replica(victim).unwrap().address().unwrap();

        paced.run(MINUTE * 4);
        paced.network.stop_replica(victim).unwrap();
        let first = paced.network.replica(victim).unwrap().head().height.get() + 1;
        paced.run(MINUTE * 6 + SECOND * 30);
        let heights = paced.network.replicas().iter().map(|replica| replica.head().height.get());
        let last = heights.max().unwrap();
        paced.network.start_replica(victim).unwrap();
        paced.run(MINUTE * 10);

        assert_eq!((paced.now, paced.pacer.counters().gaps), (MINUTE * 10, 0));
        assert!(paced.height() >= 190, "{} blocks in 200 periods", paced.height());
        let (reports, unsigned) = absences(&paced.network, address);
        // Each block that was made meanwhile is reported by the next one; after it the validator has to catch up.
        let made: Vec<u64> = (first..=last).collect();
        assert!(made.len() >= 45, "{made:?}");
        assert_eq!(reports[..made.len()], made.iter().map(|height| height + 1).collect::<Vec<_>>());
        assert!(reports.len() - made.len() <= 2, "{reports:?} of {made:?}");
        assert!(made.iter().all(|height| unsigned.contains(height)), "nobody signed for it: {unsigned:?}");
        assert_eq!(missed(&paced.network, address), reports.len() as u64, "the contract counted the reports");
        let mut others_unsigned = 0;
        for replica in paced.network.replicas().iter().filter(|replica| replica.id() != victim) {
            let other = replica.address().unwrap();
            let (reports, unsigned) = absences(&paced.network, other);
            assert_eq!((reports, missed(&paced.network, other)), (Vec::new(), 0));
            others_unsigned += unsigned.len();
        }
        assert!(others_unsigned > 0, "a certificate has a quorum's signatures and no more: it proves no absence");
    }
}

#[test]
fn who_is_stopped_for_too_long_is_jailed_and_leaves_the_committee() {
    let mut paced = Paced::new(network(5, 20));
    let victim = ReplicaId::new(4);
    let address = paced.network.replica(victim).unwrap().address().unwrap();
    paced.run(MINUTE * 2);
    paced.network.stop_replica(victim).unwrap();
    paced.run(MINUTE * 5);
    let record = record(&paced.network, address);
    assert_eq!((record.status, record.validates), (ValidatorStatus::Jailed, false));
    let (reports, _) = absences(&paced.network, address);
    assert_eq!(reports.len() as u64, reports.last().unwrap() - reports[0] + 1, "one after another: {reports:?}");
    // Ten of twenty may be missed, and the committee changes at the next multiple of 16.
    assert!((11..=11 + 16).contains(&reports.len()), "{reports:?}");
    let height = paced.network.replica(ReplicaId::new(0)).unwrap().head().height.get();
    assert!(height >= 95, "the others go on: {height}");
}

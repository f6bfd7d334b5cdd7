//! Two chains whose validators have the same keys: what is signed on both proves nothing on either. Were signatures of any chain
//! ([`Mutation::SignaturesOfAnyChain`]), it would convict on both whoever signed it.

use super::*;
use crate::{
    chain::Block,
    consensus::{
        BlockId, ConsensusKind, Purpose, SealScheme, Signer,
        dpos::{ConflictingBlocks, DposConfig},
        mutation::{self, Mutation},
        pbft::{Body, DoubleSigning, PbftMessage, Phase, Seal, View},
        pos::{Payload, Proposal, SlashingEvidence, Vote},
    },
    primitives::{B256, Bytes, Header, Timestamp},
};

const HEIGHT: u64 = 14;
const SCHEMES: [SealScheme; 2] = [SealScheme::Symbolic, SealScheme::Secp256k1];

/// Two messages that contradict each other, one of each chain.
#[derive(Debug)]
struct Pair {
    /// Signers of both messages, each by its own chain.
    signers: [Address; 2],
    /// Whom the pair convicts on each chain.
    convicted: [Option<Address>; 2],
}

impl Pair {
    fn signer_of_both(&self) -> Option<Address> {
        let [first, second] = self.signers;
        (first == second).then_some(first)
    }
}

/// Checks that pairs of messages convict nobody on either chain; and as a control that with signatures of any chain each pair convicts who
/// signed both messages, on both chains. `of_one_signer_min` is the least number of such pairs, so that neither is vacuous.
fn assert_that_none_convicts(pairs: fn(SealScheme) -> Vec<Pair>, of_one_signer_min: usize) {
    for seals in SCHEMES {
        let found = pairs(seals);
        for pair in &found {
            assert_eq!(pair.convicted, [None; 2], "{seals:?}: {pair:?}");
        }
        let of_any_chain = mutation::with(Mutation::SignaturesOfAnyChain, || pairs(seals));
        for pair in &of_any_chain {
            assert_eq!(pair.convicted, [pair.signer_of_both(); 2], "{seals:?}, of any chain: {pair:?}");
        }
        for pairs in [found, of_any_chain] {
            let of_one_signer = pairs.iter().filter(|pair| pair.signer_of_both().is_some()).count();
            assert!(of_one_signer >= of_one_signer_min, "{seals:?}: {of_one_signer} of {} pairs", pairs.len());
        }
    }
}

/// Two networks of the same validators, with genesis blocks of their own, and the blocks of each.
fn two_chains(kind: ConsensusKind, seals: SealScheme) -> [(Network, Vec<Arc<Block>>); 2] {
    [1_001, 1_002].map(|chain_id| {
        let genesis = GenesisSpec::new(chain_id).with_balance(Address::repeat_byte(chain_id as u8), ether(1));
        let builder = Network::builder().with_genesis(genesis).with_consensus(default_sim_config(kind));
        let mut network = builder.with_validators(4).with_seed(1).with_seals(seals).build().unwrap();
        network.run_to_height(Height::new(HEIGHT)).unwrap();
        let chain = network.primary().chain();
        let block = |height| chain.block_at(Height::new(height)).unwrap().block().clone();
        let blocks = (1..=HEIGHT).map(block).collect();
        (network, blocks)
    })
}

/// The validators of a network, with the keys that both have.
fn signers(network: &Network) -> Vec<Signer> {
    (0..4).map(|index| network.authenticator().signer(&NetworkBuilder::validator_key(1, index))).collect()
}

/// The validator with this address.
fn signer_of(network: &Network, address: Address) -> Signer {
    signers(network).into_iter().find(|signer| signer.address() == address).unwrap()
}

#[test]
fn commits_of_two_chains_prove_no_double_signing() {
    // Two quorums of four validators have two in common.
    assert_that_none_convicts(pairs_of_commits, 2 * HEIGHT as usize);
}

fn pairs_of_commits(seals: SealScheme) -> Vec<Pair> {
    let [(a, of_a), (b, of_b)] = two_chains(ConsensusKind::Pbft, seals);
    let mut pairs = Vec::new();
    for (one, other) in of_a.iter().zip(&of_b) {
        let (view, commits) = commits_for(one, &a);
        let (other_view, other_commits) = commits_for(other, &b);
        assert!(one.hash() != other.hash() && view == other_view);
        for (mine, signer) in &commits {
            for (with, other_signer) in &other_commits {
                let (mine, with) = ((one.hash(), mine.clone()), (other.hash(), with.clone()));
                let proof = DoubleSigning::new(Phase::Commit, view, one.height(), mine, with);
                let convicted = [&a, &b].map(|network| proof.offender(network.authenticator()).ok());
                pairs.push(Pair { signers: [*signer, *other_signer], convicted });
            }
        }
    }
    assert!(pairs.len() >= 9 * HEIGHT as usize, "{}", pairs.len());
    pairs
}

/// The view and the commits of a block's certificate, with their signers: each is a proof with a commit by the same validator for another
/// block, and with no other's.
fn commits_for(block: &Block, network: &Network) -> (View, Vec<(Bytes, Address)>) {
    let certificate = Seal::certificate(block.seal()).unwrap();
    let (view, another) = (certificate.view, BlockId { height: block.height(), hash: B256::repeat_byte(1) });
    let with_signer = |commit: Bytes| {
        let proven = signers(network).into_iter().filter_map(|signer| {
            let second = PbftMessage::signed(Body::Commit { view, block: another }, &signer).signature;
            let (first, second) = ((block.hash(), commit.clone()), (another.hash, second));
            let proof = DoubleSigning::new(Phase::Commit, view, block.height(), first, second);
            proof.offender(network.authenticator()).ok()
        });
        let proven: Vec<_> = proven.collect();
        assert_eq!(proven.len(), 1, "{proven:?}");
        (commit, proven[0])
    };
    (view, certificate.signatures.into_iter().map(with_signer).collect())
}

#[test]
fn blocks_of_two_chains_are_no_evidence_against_their_producer() {
    assert_that_none_convicts(pairs_of_blocks, 3);
}

fn pairs_of_blocks(seals: SealScheme) -> Vec<Pair> {
    let config = DposConfig::default().with_producers(4);
    let [(a, of_a), (b, of_b)] = two_chains(ConsensusKind::Dpos, seals);
    let sealed = |block: &Block| (block.header().clone(), block.seal().clone());
    let at = (10 * HEIGHT, Timestamp::from_secs(of_a[0].timestamp().as_secs() + 10 * HEIGHT));
    let named = |network: &Network, proof: &ConflictingBlocks| {
        proof.check(&config, at, network.authenticator()).ok().map(|infraction| infraction.offender)
    };
    // Both sealed for one chain are evidence.
    for block in &of_a {
        let author = block.header().beneficiary;
        let twin = Header { gas_limit: block.header().gas_limit - 1, ..block.header().clone() };
        let seal = signer_of(&a, author).sign(Purpose::Block, twin.hash_slow());
        assert_eq!(named(&a, &ConflictingBlocks::new(sealed(block), (twin, seal))), Some(author));
    }
    let mut pairs = Vec::new();
    for (one, other) in of_a.iter().flat_map(|one| of_b.iter().map(move |other| (one, other))) {
        let proof = ConflictingBlocks::new(sealed(one), sealed(other));
        if proof.conflict(&config).is_some() {
            let signers = [one, other].map(|block| block.header().beneficiary);
            pairs.push(Pair { signers, convicted: [&a, &b].map(|network| named(network, &proof)) });
        }
    }
    assert!(pairs.len() > HEIGHT as usize, "{}", pairs.len());
    pairs
}

#[test]
fn votes_and_proposals_of_two_chains_are_no_slashing_evidence() {
    // Each validator votes once in an epoch of four slots.
    assert_that_none_convicts(pairs_of_votes, 8);
    assert_that_none_convicts(pairs_of_proposals, 1);
}

fn pairs_of_votes(seals: SealScheme) -> Vec<Pair> {
    let [(a, of_a), (b, of_b)] = two_chains(ConsensusKind::Pos, seals);
    let votes_in = |blocks: &[Arc<Block>]| blocks.iter().flat_map(|block| payload(block).votes).collect::<Vec<_>>();
    let (votes, other_votes) = (votes_in(&of_a), votes_in(&of_b));
    let mut pairs = Vec::new();
    for (vote, other) in votes.iter().flat_map(|vote| other_votes.iter().map(move |other| (vote, other))) {
        let Some(offence) = SlashingEvidence::of_votes(vote, other) else { continue };
        let signers = [vote.signer(a.authenticator()).unwrap(), other.signer(b.authenticator()).unwrap()];
        pairs.push(Pair { signers, convicted: convicted(&offence, [&a, &b]) });
        // Both signed on one chain are evidence.
        let second = Vote::signed(other.data, &signer_of(&a, signers[0]));
        let offence = SlashingEvidence::of_votes(vote, &second).unwrap();
        assert_eq!(offence.offender(a.authenticator()), Ok(signers[0]));
    }
    pairs
}

fn pairs_of_proposals(seals: SealScheme) -> Vec<Pair> {
    let [(a, of_a), (b, of_b)] = two_chains(ConsensusKind::Pos, seals);
    let proposal = |block: &Block| {
        let (slot, signature) = (payload(block).slot, block.seal().clone());
        Proposal { slot, block: BlockId::of(block), signature }
    };
    let mut pairs = Vec::new();
    for (one, other) in of_a.iter().zip(&of_b) {
        let (proposal, other) = (proposal(one), proposal(other));
        let Some(offence) = SlashingEvidence::of_proposals(&proposal, &other) else { continue };
        let signers = [proposal.signer(a.authenticator()).unwrap(), other.signer(b.authenticator()).unwrap()];
        pairs.push(Pair { signers, convicted: convicted(&offence, [&a, &b]) });
        // Both signed on one chain are evidence.
        let second = Proposal::signed(proposal.slot, other.block, &signer_of(&a, signers[0]));
        let offence = SlashingEvidence::of_proposals(&proposal, &second).unwrap();
        assert_eq!(offence.offender(a.authenticator()), Ok(signers[0]));
    }
    pairs
}

fn payload(block: &Block) -> Payload {
    Payload::decode(block.protocol_payload()).unwrap()
}

/// Whom an offence convicts on each chain.
fn convicted(offence: &SlashingEvidence, networks: [&Network; 2]) -> [Option<Address>; 2] {
    networks.map(|network| offence.offender(network.authenticator()).ok())
}

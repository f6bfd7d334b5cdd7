//! Two chains whose validators have the same keys: what is signed on both proves nothing on either.

use super::*;
use crate::{
    chain::Block,
    consensus::{
        BlockId, ConsensusKind, Purpose, SealScheme, Signer,
        dpos::{ConflictingBlocks, DposConfig},
        pbft::{Body, DoubleSigning, PbftMessage, Phase, Seal},
        pos::{Payload, Proposal, SlashingEvidence, Vote},
    },
    primitives::{Bytes, Header, Timestamp},
};

const HEIGHT: u64 = 14;
const SCHEMES: [SealScheme; 2] = [SealScheme::Symbolic, SealScheme::Secp256k1];

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

#[test]
fn commits_of_two_chains_prove_no_double_signing() {
    for seals in SCHEMES {
        let [(a, of_a), (b, of_b)] = two_chains(ConsensusKind::Pbft, seals);
        let mut pairs = 0;
        for (one, other) in of_a.iter().zip(&of_b) {
            let [first, second] = [one, other].map(|block| Seal::certificate(block.seal()).unwrap());
            assert!(one.hash() != other.hash() && first.view == second.view);
            let proof = |mine: &Bytes, with: &Bytes| {
                let (mine, with) = ((one.hash(), mine.clone()), (other.hash(), with.clone()));
                DoubleSigning::new(Phase::Commit, first.view, one.height(), mine, with)
            };
            for mine in &first.signatures {
                for with in &second.signatures {
                    pairs += 1;
                    let named = |network: &Network| proof(mine, with).offender(network.authenticator()).is_ok();
                    assert!(!named(&a) && !named(&b), "height {}", one.height());
                }
                // Both signed on one chain are a proof.
                let named = signers(&a).into_iter().filter(|signer| {
                    let body = Body::Commit { view: first.view, block: BlockId::of(other) };
                    let with = PbftMessage::signed(body, signer).signature;
                    proof(mine, &with).offender(a.authenticator()) == Ok(signer.address())
                });
                assert_eq!(named.count(), 1);
            }
        }
        assert!(pairs >= 9 * HEIGHT, "{pairs}");
    }
}

#[test]
fn blocks_of_two_chains_are_no_evidence_against_their_producer() {
    let config = DposConfig::default().with_producers(4);
    for seals in SCHEMES {
        let [(a, of_a), (b, of_b)] = two_chains(ConsensusKind::Dpos, seals);
        let sealed = |block: &Block| (block.header().clone(), block.seal().clone());
        let at = (10 * HEIGHT, Timestamp::from_secs(of_a[0].timestamp().as_secs() + 10 * HEIGHT));
        let named = |network: &Network, proof: &ConflictingBlocks| {
            proof.check(&config, at, network.authenticator()).ok().map(|infraction| infraction.offender)
        };
        let (mut conflicts, mut of_one_producer) = (0, 0);
        for (one, other) in of_a.iter().flat_map(|one| of_b.iter().map(move |other| (one, other))) {
            let proof = ConflictingBlocks::new(sealed(one), sealed(other));
            if proof.conflict(&config).is_some() {
                conflicts += 1;
                of_one_producer += u64::from(one.header().beneficiary == other.header().beneficiary);
                assert_eq!((named(&a, &proof), named(&b, &proof)), (None, None), "{proof:?}");
            }
        }
        assert!(conflicts > HEIGHT && of_one_producer > 2, "{conflicts}, {of_one_producer} of one producer");
        // Both sealed for one chain are evidence.
        for block in &of_a {
            let author = block.header().beneficiary;
            let signer = signers(&a).into_iter().find(|signer| signer.address() == author).unwrap();
            let twin = Header { gas_limit: block.header().gas_limit - 1, ..block.header().clone() };
            let seal = signer.sign(Purpose::Block, twin.hash_slow());
            assert_eq!(named(&a, &ConflictingBlocks::new(sealed(block), (twin, seal))), Some(author));
        }
    }
}

#[test]
fn votes_and_proposals_of_two_chains_are_no_slashing_evidence() {
    for seals in SCHEMES {
        let [(a, of_a), (b, of_b)] = two_chains(ConsensusKind::Pos, seals);
        let signed = |blocks: &[Arc<Block>]| {
            let payloads = blocks.iter().map(|block| (Payload::decode(block.protocol_payload()).unwrap(), block));
            let (mut votes, mut proposals) = (Vec::new(), Vec::new());
            for (payload, block) in payloads {
                let (slot, signature) = (payload.slot, block.seal().clone());
                proposals.push(Proposal { slot, block: BlockId::of(block), signature });
                votes.extend(payload.votes);
            }
            (votes, proposals)
        };
        let ((votes, proposals), (other_votes, other_proposals)) = (signed(&of_a), signed(&of_b));
        let pairs = votes.iter().flat_map(|one| other_votes.iter().map(move |other| (one, other)));
        let mut evidence: Vec<_> = pairs.filter_map(|(one, other)| SlashingEvidence::of_votes(one, other)).collect();
        assert!(evidence.len() > 8, "{}", evidence.len());
        let pairs = proposals.iter().zip(&other_proposals);
        evidence.extend(pairs.filter_map(|(one, other)| SlashingEvidence::of_proposals(one, other)));
        for offence in &evidence {
            for network in [&a, &b] {
                assert!(offence.offender(network.authenticator()).is_err(), "{offence:?}");
            }
        }
        // Both signed on one chain are evidence.
        let named = |offence: Option<SlashingEvidence>| offence.unwrap().offender(a.authenticator()).unwrap();
        let signer_of = |address| signers(&a).into_iter().find(|signer| signer.address() == address).unwrap();
        for vote in &votes {
            let author = vote.signer(a.authenticator()).unwrap();
            let Some(other) = other_votes.iter().find(|other| other.data.is_double(&vote.data)) else { continue };
            let other = Vote::signed(other.data, &signer_of(author));
            assert_eq!(named(SlashingEvidence::of_votes(vote, &other)), author);
        }
        for (proposal, other) in proposals.iter().zip(&other_proposals) {
            let author = proposal.signer(a.authenticator()).unwrap();
            let other = Proposal::signed(proposal.slot, other.block, &signer_of(author));
            assert_eq!(named(SlashingEvidence::of_proposals(proposal, &other)), author);
        }
    }
}

//! The consensus payload of a proof-of-stake block: slot, randomness, votes, evidence, epoch accounting.

use super::{Reveal, SlashingEvidence, Vote, VoteData};
use crate::{
    consensus::{Encoder, Validator, ValidatorSet, encoding::Decoder},
    primitives::{Address, B256, Bytes},
};

/// Largest number of votes in a block.
pub const VOTES_MAX: usize = 1_024;
/// Largest number of offences in a block.
pub const OFFENCES_MAX: usize = 16;

/// The consensus payload; its keccak is the header's `extraData`.
///
/// Encoding (all integers big-endian, lists after their length as 4 bytes): the slot (8 bytes), the reveal and the end of the next hash
/// chain (each after a presence byte), the votes
/// grouped by their data (each group: the data, then the signatures), the offences, the absent validators, and after a presence
/// byte the accounting of the epochs that ended before this block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Payload {
    /// Slot of the block.
    pub slot: u64,
    /// The proposer's part of the randomness.
    pub reveal: Reveal,
    /// Votes that the branch has not counted yet, in ascending order.
    pub votes: Vec<Vote>,
    /// Offences that the branch has not punished yet, in ascending order.
    pub offences: Vec<SlashingEvidence>,
    /// Validators that did not vote in the newest epoch whose votes can no longer be included; ascending.
    pub absent: Vec<Address>,
    /// Accounting of the epochs that ended before this block; `None` unless it is the first of its epoch.
    pub accounting: Option<EpochAccounting>,
}

/// Rewards, penalties and stake changes at the end of an epoch, in the first block after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EpochAccounting {
    /// Penalties by validator, in gwei: missed votes, inactivity leak and correlation penalties; ascending.
    pub penalties: Vec<(Address, u64)>,
    /// Rewards by validator, in gwei: for votes, and for including them; ascending. With 0 who had duties, and neither earned nor lost.
    pub rewards: Vec<(Address, u64)>,
    /// Bonded stake after the updates of execution, in gwei, when it changed; in force once this block is final.
    pub elected: Option<Vec<Validator>>,
    /// [`ValidatorSet::hash`] of the next epoch's validators, when they differ from this epoch's.
    pub next: Option<B256>,
}

/// Bytes that do not decode to a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid proof-of-stake payload: not in canonical form")]
pub struct PayloadError;

impl Payload {
    /// Returns the canonical encoding.
    pub fn encoded(&self) -> Bytes {
        let Self { slot, reveal, votes, offences, absent, accounting } = self;
        let mut out = Encoder::new();
        out.u64(*slot);
        reveal.encode(&mut out);
        let groups: Vec<&[Vote]> = votes.chunk_by(|one, other| one.data == other.data).collect();
        out.list(groups.into_iter(), |out, group| {
            group[0].data.encode(out);
            out.list(group.iter(), |out, vote| out.bytes(&vote.signature));
        });
        out.list(offences.iter(), |out, offence| offence.encode(out));
        out.list(absent.iter(), |out, validator| out.address(validator));
        out.option(accounting.as_ref(), |out, accounting| accounting.encode(out));
        out.into_bytes().into()
    }

    /// Decodes the canonical encoding.
    ///
    /// # Errors
    /// [`PayloadError`] for any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, PayloadError> {
        Self::read(bytes).ok_or(PayloadError)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Decoder::new(bytes);
        let (slot, reveal) = (bytes.u64()?, Reveal::decode(&mut bytes)?);
        let groups = bytes.list(|bytes| {
            let data = VoteData::decode(bytes)?;
            let signatures = bytes.list(Decoder::bytes)?;
            (!signatures.is_empty()).then_some((data, signatures))
        })?;
        let is_grouped = groups.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let mut votes = Vec::new();
        for (data, signatures) in groups {
            let signed = signatures.into_iter().map(Bytes::copy_from_slice);
            votes.extend(signed.map(|signature| Vote { data, signature }));
        }
        let payload = Self {
            slot,
            reveal,
            votes,
            offences: bytes.list(SlashingEvidence::decode)?,
            absent: bytes.list(Decoder::address)?,
            accounting: if bytes.bool()? { Some(EpochAccounting::decode(&mut bytes)?) } else { None },
        };
        let is_sorted = payload.votes.is_sorted_by(|one, other| one < other)
            && payload.offences.is_sorted_by(|one, other| one < other);
        (bytes.is_empty() && is_grouped && is_sorted).then_some(payload)
    }

    /// Returns the slot of an encoded payload without decoding the rest.
    pub(super) fn slot_of(bytes: &[u8]) -> Option<u64> {
        Decoder::new(bytes).u64()
    }
}

impl EpochAccounting {
    fn encode(&self, out: &mut Encoder) {
        let Self { penalties, rewards, elected, next } = self;
        for amounts in [penalties, rewards] {
            out.list(amounts.iter(), |out, (validator, gwei)| {
                out.address(validator);
                out.u64(*gwei);
            });
        }
        out.option(elected.as_ref(), |out, members| encode_members(members, out));
        out.option(next.as_ref(), |out, hash| out.hash(hash));
    }

    fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let amounts = |bytes: &mut Decoder<'_>| bytes.list(|bytes| Some((bytes.address()?, bytes.u64()?)));
        Some(Self {
            penalties: amounts(bytes)?,
            rewards: amounts(bytes)?,
            elected: if bytes.bool()? { Some(decode_members(bytes)?) } else { None },
            next: if bytes.bool()? { Some(bytes.hash()?) } else { None },
        })
    }
}

pub(super) fn encode_members(members: &[Validator], out: &mut Encoder) {
    out.list(members.iter(), |out, member| {
        out.address(&member.address);
        out.u64(member.weight);
    });
}

pub(super) fn decode_members(bytes: &mut Decoder<'_>) -> Option<Vec<Validator>> {
    bytes.list(|bytes| Some(Validator { address: bytes.address()?, weight: bytes.u64()? }))
}

pub(super) fn decode_set(bytes: &mut Decoder<'_>) -> Option<ValidatorSet> {
    ValidatorSet::new(decode_members(bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        consensus::{
            Authenticator, BlockId,
            pos::{Checkpoint, Proposal},
        },
        primitives::{Height, KeyPair},
    };

    fn full() -> Payload {
        let authenticator = Authenticator::symbolic(1);
        let signers: Vec<_> = (0..3).map(|index| authenticator.signer(&KeyPair::from_seed(index, "pos"))).collect();
        let id = |byte| BlockId { height: Height::new(3), hash: B256::repeat_byte(byte) };
        let checkpoint = |epoch| Checkpoint { epoch, block: id(1) };
        let data = |byte| VoteData { slot: 9, head: id(byte), source: checkpoint(1), target: checkpoint(2) };
        let vote = |byte, who: usize| Vote::signed(data(byte), &signers[who]);
        let mut votes = vec![vote(1, 0), vote(1, 1), vote(2, 2)];
        votes.sort();
        let proposals = [3, 4].map(|byte| Proposal::signed(8, id(byte), &signers[1]));
        let mut offences = vec![
            SlashingEvidence::of_votes(&vote(1, 2), &vote(2, 2)).unwrap(),
            SlashingEvidence::of_proposals(&proposals[0], &proposals[1]).unwrap(),
        ];
        offences.sort();
        let accounting = EpochAccounting {
            penalties: vec![(signers[0].address(), 7)],
            rewards: vec![(signers[1].address(), 3)],
            elected: Some(vec![Validator { address: signers[0].address(), weight: 5 }]),
            next: Some(B256::repeat_byte(9)),
        };
        Payload {
            slot: 9,
            reveal: Reveal { element: Some(B256::repeat_byte(8)), next_chain: Some(B256::repeat_byte(7)) },
            votes,
            offences,
            absent: vec![signers[2].address()],
            accounting: Some(accounting),
        }
    }

    #[test]
    fn a_payload_round_trips_and_has_one_encoding() {
        for payload in [full(), Payload::default(), Payload { accounting: Some(EpochAccounting::default()), ..full() }]
        {
            let bytes = payload.encoded();
            assert_eq!(Payload::decode(&bytes), Ok(payload.clone()));
            assert_eq!(Payload::slot_of(&bytes), Some(payload.slot));
            assert!(Payload::decode(&[&bytes[..], &[0]].concat()).is_err());
            assert!(Payload::decode(&bytes[..bytes.len() - 1]).is_err());
        }
        let mut turned = full();
        turned.votes.reverse();
        assert!(Payload::decode(&turned.encoded()).is_err(), "another order");
        let mut twice = full();
        twice.votes.push(twice.votes[2].clone());
        assert!(Payload::decode(&twice.encoded()).is_err(), "one vote twice");
    }

    proptest! {
        #[test]
        fn what_decodes_is_canonical(place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
            let mut bytes = full().encoded().to_vec();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            bytes.truncate(cut.index(bytes.len() + 1).max(place));
            if let Ok(payload) = Payload::decode(&bytes) {
                prop_assert_eq!(payload.encoded(), bytes);
            }
        }
    }
}

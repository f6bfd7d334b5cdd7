//! Proof that a validator contradicted itself, and what a block does with it.
//!
//! Two signatures of one validator over two blocks at one height, in one view and of one kind (pre-prepare, prepare or
//! commit) are something that no honest replica gives away: it makes every promise durable before it speaks. Whoever finds
//! such a pair tells the others, and the next primaries put it in a block's payload. There every replica checks it again. The
//! offender leaves the council at the next checkpoint, and on a chain with stake the staking contract slashes it.

use alloy_rlp::{Decodable, RlpDecodable, RlpEncodable};
use serde::{Deserialize, Serialize};

use super::{Body, Council, HeaderError, MessageError, Pbft, PbftMessage, View, broadcast, message::vote};
use crate::{
    consensus::{Authenticator, BlockId, Effect, Encoder, Evidence, SealError, Validator, ValidatorSet},
    primitives::{Address, B256, Bytes, Height},
};

use std::{collections::BTreeSet, sync::Arc};

/// Pieces of evidence in one block.
pub const EVIDENCE_PER_BLOCK_MAX: usize = 4;
/// Blocks after which evidence is too old to be told.
pub const EVIDENCE_BLOCKS_MAX: u64 = 8_192;

/// What a validator said twice in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Promise {
    /// It proposed.
    PrePrepare,
    /// It prepared.
    Prepare,
    /// It committed.
    Commit,
}

impl Promise {
    const ALL: [Self; 3] = [Self::PrePrepare, Self::Prepare, Self::Commit];

    /// The kind in signed messages.
    const fn code(self) -> u8 {
        match self {
            Self::PrePrepare => 1,
            Self::Prepare => 2,
            Self::Commit => 3,
        }
    }
}

/// Two promises of one validator in one view at one height, for two blocks; the one of the lower hash first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RlpEncodable, RlpDecodable)]
pub struct DoubleSigning {
    /// Its number in signed messages: 1 pre-prepare, 2 prepare, 3 commit.
    pub(super) kind: u8,
    pub(super) view: u64,
    pub(super) height: u64,
    pub(super) first: B256,
    pub(super) first_signature: Bytes,
    pub(super) second: B256,
    pub(super) second_signature: Bytes,
}

/// Why it proves nothing, or is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// One block twice, blocks not in the order of their hashes, or promises of no kind.
    #[error("evidence is not of two blocks in ascending order of hash")]
    Form,
    /// It is of a height that is not reached, or long past.
    #[error("evidence of height {got} is not of the last {EVIDENCE_BLOCKS_MAX} heights up to {newest}")]
    Age {
        /// Of the promises.
        got: Height,
        /// The newest height that may be.
        newest: Height,
    },
    /// Signatures of two, or of somebody who is no validator.
    #[error("{first} and {second} signed what evidence shows; expected one and the same validator")]
    Offender {
        /// Who signed for the first block.
        first: Address,
        /// Who signed for the second.
        second: Address,
    },
    /// This validator's end is known already.
    #[error("evidence against {offender} was told before")]
    Told {
        /// Who.
        offender: Address,
    },
    /// More than a block may tell.
    #[error("{got} pieces of evidence in one block; at most {EVIDENCE_PER_BLOCK_MAX} are allowed")]
    TooMuch {
        /// How many.
        got: usize,
    },
    /// A signature of nobody.
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl DoubleSigning {
    /// Evidence from two promises, in either order.
    pub fn new(promise: Promise, view: View, height: Height, one: (B256, Bytes), other: (B256, Bytes)) -> Self {
        let (first, second) = if one.0 < other.0 { (one, other) } else { (other, one) };
        Self {
            kind: promise.code(),
            view: view.get(),
            height: height.get(),
            first: first.0,
            first_signature: first.1,
            second: second.0,
            second_signature: second.1,
        }
    }

    /// Which promise was given twice.
    pub fn promise(&self) -> Option<Promise> {
        Promise::ALL.into_iter().find(|promise| promise.code() == self.kind)
    }

    /// In which view.
    pub const fn view(&self) -> View {
        View::new(self.view)
    }

    /// At which height.
    pub const fn height(&self) -> Height {
        Height::new(self.height)
    }

    /// The two blocks.
    pub const fn blocks(&self) -> (B256, B256) {
        (self.first, self.second)
    }

    /// Who gave both promises; nothing is said about whether that is a validator.
    ///
    /// # Errors
    /// [`EvidenceError::Form`], [`EvidenceError::Seal`], [`EvidenceError::Offender`].
    pub fn offender(&self, authenticator: &Authenticator) -> Result<Address, EvidenceError> {
        if self.first >= self.second || self.promise().is_none() {
            return Err(EvidenceError::Form);
        }
        let signer = |hash, signature: &Bytes| {
            let block = BlockId { height: self.height(), hash };
            authenticator.author(authenticator.keccak(&vote(self.kind, self.view(), &block)), signature)
        };
        let first = signer(self.first, &self.first_signature)?;
        let second = signer(self.second, &self.second_signature)?;
        if first == second { Ok(first) } else { Err(EvidenceError::Offender { first, second }) }
    }

    /// The same in the eyes of `council` at a block of height `newest`, when it may still be told.
    pub(super) fn check(
        &self,
        newest: Height,
        council: &Council,
        told: &BTreeSet<Address>,
        authenticator: &Authenticator,
    ) -> Result<Address, EvidenceError> {
        let got = self.height();
        if got > newest || newest.get() - got.get() > EVIDENCE_BLOCKS_MAX {
            return Err(EvidenceError::Age { got, newest });
        }
        let offender = self.offender(authenticator)?;
        if !council.contains(&offender) {
            return Err(EvidenceError::Offender { first: offender, second: offender });
        }
        if told.contains(&offender) { Err(EvidenceError::Told { offender }) } else { Ok(offender) }
    }

    pub(super) fn encode_to(&self, out: &mut Encoder) {
        out.bytes(&alloy_rlp::encode(self));
    }
}

/// What a block says beside its header; nothing at all in most blocks.
///
/// Encoding: no bytes, or RLP of `[validators, evidence]`: the validators who take over as `[address, weight]` in ascending order of
/// address (empty: nobody), evidence as `[kind, view, height, hash, signature, hash, signature]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Who certifies the blocks after this one, where that changes.
    pub successor: Option<ValidatorSet>,
    /// Proof against validators of whom nothing was told before.
    pub evidence: Vec<DoubleSigning>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct Fields {
    members: Vec<Member>,
    evidence: Vec<DoubleSigning>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct Member {
    address: Address,
    weight: u64,
}

impl Payload {
    /// The canonical bytes.
    pub fn encoded(&self) -> Bytes {
        if self.successor.is_none() && self.evidence.is_empty() {
            return Bytes::new();
        }
        let members = self.successor.iter().flat_map(ValidatorSet::members);
        let members = members.map(|member| Member { address: member.address, weight: member.weight }).collect();
        alloy_rlp::encode(Fields { members, evidence: self.evidence.clone() }).into()
    }

    /// Reads [`Payload::encoded`]'s form and no other.
    ///
    /// # Errors
    /// [`HeaderError::Payload`], and [`EvidenceError::TooMuch`] in [`HeaderError::Evidence`].
    pub fn decode(bytes: &Bytes) -> Result<Self, HeaderError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let malformed = || HeaderError::Payload { bytes: bytes.len() };
        let Fields { members, evidence } = Fields::decode(&mut bytes.as_ref()).map_err(|_| malformed())?;
        if evidence.len() > EVIDENCE_PER_BLOCK_MAX {
            return Err(EvidenceError::TooMuch { got: evidence.len() }.into());
        }
        let members = members.into_iter().map(|Member { address, weight }| Validator { address, weight });
        let payload = Self { successor: ValidatorSet::new(members).ok(), evidence };
        if payload.encoded() == *bytes { Ok(payload) } else { Err(malformed()) }
    }
}

impl Pbft {
    /// Takes note of a contradiction that this replica saw itself, with the proof where it has it, and tells the others.
    pub(super) fn accuse(
        &mut self,
        offender: Address,
        height: Height,
        (first, second): (B256, B256),
        proof: Option<DoubleSigning>,
        effects: &mut Vec<Effect>,
    ) {
        effects.push(Effect::Evidence(Evidence::DoubleSign { offender, height, first, second }));
        let Some(proof) = proof else { return };
        if self.take_evidence(&proof).is_ok() {
            effects.push(Effect::Mark("pbft/evidence"));
            self.tell_evidence(&proof, effects);
        }
    }

    /// Another validator tells of a contradiction.
    pub(super) fn on_evidence(&mut self, proof: &DoubleSigning, effects: &mut Vec<Effect>) -> Result<(), MessageError> {
        let offender = self.take_evidence(proof)?;
        let (height, (first, second)) = (proof.height(), proof.blocks());
        effects.push(Effect::Evidence(Evidence::DoubleSign { offender, height, first, second }));
        effects.push(Effect::Mark("pbft/evidence"));
        Ok(())
    }

    /// Keeps evidence until a block tells it, one piece a validator.
    fn take_evidence(&mut self, proof: &DoubleSigning) -> Result<Address, MessageError> {
        let (newest, council) = (self.log.high(), self.succession.council());
        let offender = proof.check(newest, council, self.succession.told(), &self.authenticator)?;
        if self.evidence.contains_key(&offender) {
            return Err(MessageError::Known);
        }
        self.evidence.insert(offender, proof.clone());
        Ok(offender)
    }

    /// Says again what no block has told yet.
    pub(super) fn resend_evidence(&self, effects: &mut Vec<Effect>) {
        self.evidence.values().for_each(|proof| self.tell_evidence(proof, effects));
    }

    fn tell_evidence(&self, proof: &DoubleSigning, effects: &mut Vec<Effect>) {
        if let (Some(_), Some(signer)) = (self.me, &self.signer) {
            let message = PbftMessage::signed(Body::Evidence(proof.clone()), signer);
            broadcast(&Arc::new(message), None, effects);
        }
    }

    /// What a block at `height` tells.
    pub(super) fn evidence_for(&self, height: Height) -> Vec<DoubleSigning> {
        let is_due = |proof: &&DoubleSigning| {
            proof.check(height, self.succession.council(), self.succession.told(), &self.authenticator).is_ok()
        };
        self.evidence.values().filter(is_due).take(EVIDENCE_PER_BLOCK_MAX).cloned().collect()
    }

    /// Lets go of evidence that was told, or is against nobody who is still there.
    pub(super) fn forget_evidence(&mut self) {
        let (council, told) = (self.succession.council(), self.succession.told());
        self.evidence.retain(|offender, _| council.contains(offender) && !told.contains(offender));
    }
}

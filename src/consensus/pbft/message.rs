//! Signed messages between replicas.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    CertificateError, DoubleSigning, EvidenceError, InView, Phase, View,
    vote::{VOTE_LEN, pre_prepare, vote},
};
use crate::{
    chain::{Block, BodyError},
    consensus::{Authenticator, BlockId, Encoder, Purpose, SealError, Signer},
    primitives::{Address, B256, Bytes, Height, keccak256},
};

/// A message and its sender's signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PbftMessage {
    /// The content.
    pub body: Body,
    /// The sender's signature over [`Body::signing_hash`].
    pub signature: Bytes,
}

/// The messages of Castro and Liskov, "Practical Byzantine Fault Tolerance and Proactive Recovery" (2002).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// The primary proposes a block; its seal is the same signature ([`super::Seal::Proposal`]).
    PrePrepare {
        /// View of the proposal.
        view: View,
        /// The whole block.
        block: Arc<Block>,
    },
    /// A backup has executed the proposal and agrees to its place.
    Prepare {
        /// View of the vote.
        view: View,
        /// The proposed block.
        block: BlockId,
    },
    /// A replica has the block prepared.
    Commit {
        /// View of the vote.
        view: View,
        /// The prepared block.
        block: BlockId,
    },
    /// A replica committed this checkpoint block, whose hash covers its state.
    Checkpoint {
        /// The block.
        block: BlockId,
    },
    /// A replica requests another view.
    ViewChange(ViewChange),
    /// The primary of a new view starts it, with proof.
    NewView(NewView),
    /// Evidence of a validator's equivocation.
    Evidence(DoubleSigning),
    /// A replica suspects that the primary of its view omits a client's transaction. The view is left once `f + 1` suspect it.
    Suspicion(Suspicion),
}

/// A suspicion of the primary of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Suspicion {
    /// Height of the block that put the sender's committee in force.
    pub since: Height,
    /// The view.
    pub view: View,
    /// The sender's head.
    pub height: Height,
}

/// A replica's state when it leaves a view. Lists are in ascending order without duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ViewChange {
    /// Height of the block that put the sender's committee in force, of which the view is one; 0 for that of genesis.
    pub since: Height,
    /// The requested view.
    pub view: View,
    /// The replica's stable checkpoint (h).
    pub stable: BlockId,
    /// The replica's checkpoints, the stable one first (C).
    pub checkpoints: Vec<BlockId>,
    /// Blocks prepared above the stable checkpoint, one per height (P).
    pub prepared: Vec<InView>,
    /// Blocks pre-prepared above the stable checkpoint, each with its latest view (Q).
    pub pre_prepared: Vec<InView>,
}

/// The start of a view.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NewView {
    /// The view.
    pub view: View,
    /// At least a quorum of view-changes to it, in ascending order of the signers' addresses (V).
    pub view_changes: Vec<PbftMessage>,
    /// Checkpoint that the view starts from.
    pub checkpoint: BlockId,
    /// Blocks proposed again, from the height after the checkpoint on (X).
    pub chosen: Vec<BlockId>,
}

/// A refused message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The signature is malformed or has no signer.
    #[error(transparent)]
    Signature(#[from] SealError),
    /// The signer is no validator.
    #[error("{signer} is not a validator")]
    NotValidator {
        /// The signer.
        signer: Address,
    },
    /// The signer is not the view's primary.
    #[error("{signer} is not the primary of {view}")]
    NotPrimary {
        /// The signer.
        signer: Address,
        /// The view.
        view: View,
    },
    /// The message's view is over.
    #[error("message of {got}, the replica is in {current}")]
    OldView {
        /// View of the message.
        got: View,
        /// View of the replica.
        current: View,
    },
    /// The message's view is too far ahead.
    #[error("message of {got}, more than {limit} ahead of {current}")]
    FarView {
        /// View of the message.
        got: View,
        /// View of the replica.
        current: View,
        /// Greatest distance, in views.
        limit: u64,
    },
    /// The message is of a view of another committee.
    #[error("message of the committee in force since height {got}, the replica's is in force since height {current}")]
    OtherCommittee {
        /// Height since which the sender's committee is in force.
        got: Height,
        /// Height since which the replica's committee is in force.
        current: Height,
    },
    /// The height is not between the watermarks.
    #[error("height {height} is not above {low} and at most {high}")]
    Watermarks {
        /// Height of the message.
        height: Height,
        /// Height of the stable checkpoint (h).
        low: Height,
        /// Greatest accepted height (h + L).
        high: Height,
    },
    /// The message is already known, or its height is already committed.
    #[error("already known")]
    Known,
    /// The message conflicts with an earlier one of the signer.
    #[error("message conflicts with an earlier one of {signer}")]
    Contradiction {
        /// The signer.
        signer: Address,
    },
    /// A form that no honest replica sends.
    #[error("malformed: {what}")]
    Malformed {
        /// The malformed part, or the rule that it breaks.
        what: &'static str,
    },
    /// The proposed block does not extend the committed head.
    #[error("proposed block extends {got}, the head is {head}")]
    Parent {
        /// Parent in the block's header.
        got: B256,
        /// The committed head.
        head: BlockId,
    },
    /// The proposed or synced block's body is not the one that its header names, and its author signed.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The evidence is invalid.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The certificate of a synced block is invalid.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

impl PbftMessage {
    /// Signs `body`.
    pub fn signed(body: Body, signer: &Signer) -> Self {
        let signature = signer.sign(Purpose::Message, body.signing_hash());
        Self { body, signature }
    }

    /// Returns the length, in bytes, as a link's bandwidth counts it.
    pub fn size_bytes(&self) -> usize {
        if let Body::PrePrepare { block, .. } = &self.body {
            return block.size() + 8 + self.signature.len();
        }
        let mut out = Encoder::new();
        self.encode(&mut out);
        out.as_bytes().len()
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        let Self { body, signature } = self;
        body.encode(out);
        out.bytes(signature);
    }
}

impl Body {
    /// Returns the kind, for filters, traces and digests.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::PrePrepare { .. } => "pre-prepare",
            Self::Prepare { .. } => "prepare",
            Self::Commit { .. } => "commit",
            Self::Checkpoint { .. } => "checkpoint",
            Self::ViewChange(_) => "view-change",
            Self::NewView(_) => "new-view",
            Self::Evidence(_) => "evidence",
            Self::Suspicion(_) => "suspicion",
        }
    }

    /// Returns a height that the sender committed, as the message implies.
    pub(super) fn committed(&self) -> Option<Height> {
        match self {
            // A replica votes on a block only after it committed the parent.
            Self::PrePrepare { block, .. } => block.height().parent(),
            Self::Prepare { block, .. } | Self::Commit { block, .. } => block.height.parent(),
            Self::Checkpoint { block } => Some(block.height),
            Self::ViewChange(view_change) => view_change.checkpoints.last().map(|block| block.height),
            Self::Suspicion(suspicion) => Some(suspicion.height),
            Self::NewView(_) | Self::Evidence(_) => None,
        }
    }

    /// Returns the signed hash: keccak of the canonical encoding, whose first byte is the kind.
    pub fn signing_hash(&self) -> B256 {
        match self.vote() {
            Some(vote) => keccak256(vote),
            None => {
                let mut out = Encoder::new();
                self.encode(&mut out);
                keccak256(out.as_bytes())
            }
        }
    }

    /// Returns [`Body::signing_hash`], which the authenticator caches.
    pub(super) fn hash_to_sign(&self, authenticator: &Authenticator) -> B256 {
        match self.vote() {
            Some(vote) => authenticator.keccak(&vote),
            None => {
                let mut out = Encoder::new();
                self.encode(&mut out);
                authenticator.keccak(out.as_bytes())
            }
        }
    }

    /// Returns the encoding of a vote on a block; `None` for other messages.
    fn vote(&self) -> Option<[u8; VOTE_LEN]> {
        match self {
            Self::PrePrepare { view, block } => Some(pre_prepare(*view, &BlockId::of(block))),
            Self::Prepare { view, block } => Some(vote(Phase::Prepare, *view, block)),
            Self::Commit { view, block } => Some(vote(Phase::Commit, *view, block)),
            _ => None,
        }
    }

    fn encode(&self, out: &mut Encoder) {
        match self {
            Self::PrePrepare { view, block } => {
                out.raw(&pre_prepare(*view, &BlockId::of(block)));
                out.hash(&block.body_digest());
            }
            Self::Prepare { view, block } => out.raw(&vote(Phase::Prepare, *view, block)),
            Self::Commit { view, block } => out.raw(&vote(Phase::Commit, *view, block)),
            Self::Checkpoint { block } => {
                out.u8(4);
                block.encode(out);
            }
            Self::ViewChange(view_change) => {
                out.u8(5);
                view_change.encode(out);
            }
            Self::NewView(new_view) => {
                out.u8(6);
                out.u64(new_view.view.get());
                out.list(new_view.view_changes.iter(), |out, message| message.encode(out));
                new_view.checkpoint.encode(out);
                out.list(new_view.chosen.iter(), |out, block| block.encode(out));
            }
            Self::Evidence(proof) => {
                out.u8(7);
                proof.encode_to(out);
            }
            Self::Suspicion(Suspicion { since, view, height }) => {
                out.u8(8);
                out.u64(since.get());
                out.u64(view.get());
                out.u64(height.get());
            }
        }
    }
}

impl ViewChange {
    fn encode(&self, out: &mut Encoder) {
        out.u64(self.since.get());
        out.u64(self.view.get());
        self.stable.encode(out);
        out.list(self.checkpoints.iter(), |out, block| block.encode(out));
        for entries in [&self.prepared, &self.pre_prepared] {
            out.list(entries.iter(), |out, entry| entry.encode(out));
        }
    }
}

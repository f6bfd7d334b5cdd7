//! What replicas say to each other, signed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    CertificateError, DoubleSigning, EvidenceError, InView, Phase, View,
    vote::{VOTE_LEN, pre_prepare, vote},
};
use crate::{
    chain::Block,
    consensus::{Authenticator, BlockId, Encoder, SealError, Signer},
    primitives::{Address, B256, Bytes, Height, keccak256},
};

/// A message and its sender's signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PbftMessage {
    /// What is said.
    pub body: Body,
    /// The sender's signature over [`Body::signing_hash`].
    pub signature: Bytes,
}

/// The messages of Castro and Liskov, "Practical Byzantine Fault Tolerance and Proactive Recovery" (2002).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// The primary proposes a block; its seal is the same signature ([`super::Seal::Proposal`]).
    PrePrepare {
        /// In which view.
        view: View,
        /// The whole block.
        block: Arc<Block>,
    },
    /// A backup has executed the proposal and agrees to its place.
    Prepare {
        /// In which view.
        view: View,
        /// To what.
        block: BlockId,
    },
    /// A replica has the block prepared.
    Commit {
        /// In which view.
        view: View,
        /// Which block.
        block: BlockId,
    },
    /// A replica has this block, whose hash covers its state, as its committed head.
    Checkpoint {
        /// The block.
        block: BlockId,
    },
    /// A replica wants another view.
    ViewChange(ViewChange),
    /// The primary of a new view shows why it is one, and what it takes along.
    NewView(NewView),
    /// A validator contradicted itself.
    Evidence(DoubleSigning),
}

/// What a replica knows when it leaves a view. Lists ascend and name nothing twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ViewChange {
    /// The view that it wants.
    pub view: View,
    /// Its stable checkpoint (h).
    pub stable: BlockId,
    /// Its checkpoints, the stable one first (C).
    pub checkpoints: Vec<BlockId>,
    /// Blocks that it has prepared above the stable checkpoint, one a height (P).
    pub prepared: Vec<InView>,
    /// Blocks that it has pre-prepared there, each with its latest view (Q).
    pub pre_prepared: Vec<InView>,
}

/// How a view begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NewView {
    /// The view.
    pub view: View,
    /// At least a quorum of view-changes to it, in ascending order of the signers' addresses (V).
    pub view_changes: Vec<PbftMessage>,
    /// Where it starts.
    pub checkpoint: BlockId,
    /// What is proposed again, from the height after the checkpoint on (X).
    pub chosen: Vec<BlockId>,
}

/// Why a message was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Signed by nobody.
    #[error(transparent)]
    Signature(#[from] SealError),
    /// Signed by somebody without a vote.
    #[error("{signer} is not a validator")]
    NotValidator {
        /// Who.
        signer: Address,
    },
    /// Signed by another validator than the one that leads the view.
    #[error("{signer} does not lead {view}")]
    NotPrimary {
        /// Who.
        signer: Address,
        /// The view.
        view: View,
    },
    /// Of a view that is over.
    #[error("message of {got}, the replica is in {current}")]
    OldView {
        /// The message's.
        got: View,
        /// The replica's.
        current: View,
    },
    /// Too many views ahead.
    #[error("message of {got}, more than {limit} ahead of {current}")]
    FarView {
        /// The message's.
        got: View,
        /// The replica's.
        current: View,
        /// How far it may be ahead.
        limit: u64,
    },
    /// Not between the watermarks, and no news either.
    #[error("height {height} is not above {low} and at most {high}")]
    Watermarks {
        /// The message's.
        height: Height,
        /// The stable checkpoint's (h).
        low: Height,
        /// The highest allowed (h + L).
        high: Height,
    },
    /// The same was said before.
    #[error("already known")]
    Known,
    /// The opposite was said before.
    #[error("{signer} said otherwise before")]
    Contradiction {
        /// Who.
        signer: Address,
    },
    /// A form that no honest replica sends.
    #[error("malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
    /// The proposed block does not extend the committed head.
    #[error("proposed block extends {got}, the head is {head}")]
    Parent {
        /// The parent in its header.
        got: B256,
        /// The committed head.
        head: BlockId,
    },
    /// Evidence that proves nothing.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// A block came with a seal that proves nothing.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

impl PbftMessage {
    /// Signs `body`.
    pub fn signed(body: Body, signer: &Signer) -> Self {
        let signature = signer.sign(body.signing_hash());
        Self { body, signature }
    }

    /// Length in bytes, as a link's bandwidth counts it.
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
    /// The kind, for filters, traces and digests.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::PrePrepare { .. } => "pre-prepare",
            Self::Prepare { .. } => "prepare",
            Self::Commit { .. } => "commit",
            Self::Checkpoint { .. } => "checkpoint",
            Self::ViewChange(_) => "view-change",
            Self::NewView(_) => "new-view",
            Self::Evidence(_) => "evidence",
        }
    }

    /// What is signed: keccak of the canonical encoding, which begins with the kind.
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

    /// The same; of a vote, hashed once for all that vote so.
    pub(super) fn hash_to_sign(&self, authenticator: &Authenticator) -> B256 {
        self.vote().map_or_else(|| self.signing_hash(), |vote| authenticator.keccak(&vote))
    }

    /// The encoding, if it is a vote on a block.
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
            Self::PrePrepare { view, block } => out.raw(&pre_prepare(*view, &BlockId::of(block))),
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
        }
    }
}

impl ViewChange {
    fn encode(&self, out: &mut Encoder) {
        out.u64(self.view.get());
        self.stable.encode(out);
        out.list(self.checkpoints.iter(), |out, block| block.encode(out));
        for entries in [&self.prepared, &self.pre_prepared] {
            out.list(entries.iter(), |out, entry| entry.encode(out));
        }
    }
}

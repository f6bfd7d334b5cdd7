//! Clique's header encoding: `extraData` = 32 bytes vanity, the signers at a checkpoint, 65 bytes seal; the vote in the
//! header's `miner` and `nonce` (EIP-225, "Specification"). Import and export; the engine itself does not use them.

use std::sync::Arc;

use super::{Payload, PoaConfig, Snapshot, SnapshotError, Vote};
use crate::{
    consensus::{
        SealError, ValidatorSet, ValidatorSetError,
        common::signing::{secp256k1_author, secp256k1_seal},
    },
    primitives::{Address, B64, B256, Bytes, Header, Height, KeyPair, Timestamp, U256},
};

/// Length of the vanity at the start of `extraData`, in bytes (`EXTRA_VANITY`).
pub const EXTRA_VANITY: usize = 32;
/// Length of the seal at the end of `extraData`, in bytes (`EXTRA_SEAL`).
pub const EXTRA_SEAL: usize = 65;
/// Nonce of a vote for a signer (`NONCE_AUTH`).
pub const NONCE_AUTH: B64 = B64::repeat_byte(0xff);
/// Nonce of a vote against a signer, and of no vote (`NONCE_DROP`).
pub const NONCE_DROP: B64 = B64::ZERO;

/// Contents of the header fields that Clique repurposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliqueFields {
    /// Bytes chosen freely by the author.
    pub vanity: B256,
    /// Vote or checkpoint.
    pub payload: Payload,
    /// The author's signature over [`seal_hash`].
    pub seal: Bytes,
}

/// A header that is not in Clique's encoding or violates one of its rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CliqueError {
    /// `extraData` is too short for vanity and seal.
    #[error("extraData has {got} bytes; expected at least {want}: vanity and seal", want = EXTRA_VANITY + EXTRA_SEAL)]
    ExtraTooShort {
        /// Length of `extraData`, in bytes.
        got: usize,
    },
    /// The bytes between vanity and seal are not a list of addresses.
    #[error("extraData has {got} bytes between vanity and seal; expected a multiple of 20")]
    ExtraSigners {
        /// Number of bytes.
        got: usize,
    },
    /// The nonce is neither [`NONCE_AUTH`] nor [`NONCE_DROP`].
    #[error("nonce is {got}; expected {NONCE_AUTH} or {NONCE_DROP}")]
    Nonce {
        /// Value in the header.
        got: B64,
    },
    /// A field that must be zero or empty is not.
    #[error("{field} is not zero")]
    NotZero {
        /// Name of the field, as in JSON-RPC.
        field: &'static str,
    },
    /// The header does not extend the head.
    #[error("header {got} does not extend {want}")]
    Parent {
        /// Parent hash in the header.
        got: B256,
        /// Hash of the header before it.
        want: B256,
    },
    /// The timestamp is before the parent's plus the period.
    #[error("timestamp is {got}; expected at least {want}")]
    Timestamp {
        /// Value in the header.
        got: Timestamp,
        /// Earliest timestamp allowed.
        want: Timestamp,
    },
    /// The difficulty is not 2 in turn or 1 out of turn.
    #[error("difficulty is {got}; expected {want}")]
    Difficulty {
        /// Value in the header.
        got: U256,
        /// Difficulty by the author's turn.
        want: u64,
    },
    /// The signers listed at genesis are not a valid set.
    #[error(transparent)]
    Signers(#[from] ValidatorSetError),
    /// The seal does not verify.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A rule of signers, votes or checkpoints is violated.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// Returns the hash that a Clique seal signs: the header's without the seal in `extraData`.
///
/// # Errors
/// [`CliqueError::ExtraTooShort`].
pub fn seal_hash(header: &Header) -> Result<B256, CliqueError> {
    let got = header.extra_data.len();
    let kept = got.checked_sub(EXTRA_SEAL).filter(|kept| *kept >= EXTRA_VANITY);
    let kept = kept.ok_or(CliqueError::ExtraTooShort { got })?;
    Ok(Header { extra_data: header.extra_data.slice(..kept), ..header.clone() }.hash_slow())
}

/// Decodes the repurposed fields.
///
/// # Errors
/// [`CliqueError`] for an invalid layout or nonce.
pub fn import(header: &Header) -> Result<CliqueFields, CliqueError> {
    let extra = &header.extra_data;
    let got = extra.len();
    let Some(between) = got.checked_sub(EXTRA_VANITY + EXTRA_SEAL) else {
        return Err(CliqueError::ExtraTooShort { got });
    };
    if !between.is_multiple_of(20) {
        return Err(CliqueError::ExtraSigners { got: between });
    }
    let listed: Vec<_> = extra[EXTRA_VANITY..got - EXTRA_SEAL].chunks_exact(20).map(Address::from_slice).collect();
    let vote = match (header.nonce, header.beneficiary) {
        (NONCE_DROP, Address::ZERO) => None,
        (NONCE_AUTH, target) => Some(Vote { target, authorize: true }),
        (NONCE_DROP, target) => Some(Vote { target, authorize: false }),
        (got, _) => return Err(CliqueError::Nonce { got }),
    };
    let payload = Payload { vote, checkpoint: (!listed.is_empty()).then_some(listed), ..Payload::default() };
    Ok(CliqueFields {
        vanity: B256::from_slice(&extra[..EXTRA_VANITY]),
        payload,
        seal: extra.slice(got - EXTRA_SEAL..),
    })
}

/// Writes vote, checkpoint and vanity into `header` and seals it.
///
/// The seal is Clique's: secp256k1 over [`seal_hash`], without the chain's domain. A genesis header (no key) gets a seal of zeros.
pub fn export(header: &Header, vanity: B256, payload: &Payload, key: Option<&KeyPair>) -> Header {
    let (beneficiary, nonce) = match payload.vote {
        None => (Address::ZERO, NONCE_DROP),
        Some(vote) => (vote.target, if vote.authorize { NONCE_AUTH } else { NONCE_DROP }),
    };
    let mut extra = vanity.to_vec();
    for listed in payload.checkpoint.iter().flatten() {
        extra.extend_from_slice(listed.as_slice());
    }
    let unsealed = Header { beneficiary, nonce, extra_data: extra.clone().into(), ..header.clone() };
    let seal = key.map_or_else(|| vec![0; EXTRA_SEAL].into(), |key| secp256k1_seal(key, unsealed.hash_slow()));
    extra.extend_from_slice(&seal);
    Header { extra_data: extra.into(), ..unsealed }
}

/// Follows a chain of Clique headers from its genesis.
#[derive(Clone, Debug)]
pub struct CliqueChain {
    config: PoaConfig,
    head: B256,
    timestamp: Timestamp,
    height: Height,
    snapshot: Snapshot,
}

impl CliqueChain {
    /// Starts at a genesis header, which lists the first signers.
    ///
    /// # Errors
    /// [`CliqueError`] for a header that is not in Clique's encoding or lists no valid set.
    pub fn new(config: PoaConfig, genesis: &Header) -> Result<Self, CliqueError> {
        let listed = import(genesis)?.payload.checkpoint.unwrap_or_default();
        Ok(Self {
            config,
            head: genesis.hash_slow(),
            timestamp: Timestamp::from_secs(genesis.timestamp),
            height: Height::new(genesis.number),
            snapshot: Snapshot::new(ValidatorSet::equal(listed)?, Arc::default()),
        })
    }

    /// Verifies and adopts the next header by all of EIP-225's rules and returns its author.
    ///
    /// # Errors
    /// [`CliqueError`]; the chain is unchanged.
    pub fn follow(&mut self, header: &Header) -> Result<Address, CliqueError> {
        let height = self.height.next();
        if header.parent_hash != self.head || header.number != height.get() {
            return Err(CliqueError::Parent { got: header.parent_hash, want: self.head });
        }
        let (got, want) = (Timestamp::from_secs(header.timestamp), self.config.earliest_after(self.timestamp));
        if got < want {
            return Err(CliqueError::Timestamp { got, want });
        }
        if header.mix_hash != B256::ZERO {
            return Err(CliqueError::NotZero { field: "mixHash" });
        }
        if header.ommers_hash != alloy_consensus::EMPTY_OMMER_ROOT_HASH {
            return Err(CliqueError::NotZero { field: "ommers" });
        }
        let fields = import(header)?;
        let author = secp256k1_author(seal_hash(header)?, &fields.seal)?;
        let next = self.snapshot.apply(height, author, &fields.payload, self.config.epoch)?;
        let want = self.snapshot.difficulty(height, &author);
        if header.difficulty != U256::from(want) {
            return Err(CliqueError::Difficulty { got: header.difficulty, want });
        }
        (self.head, self.timestamp, self.height, self.snapshot) = (header.hash_slow(), got, height, next);
        Ok(author)
    }

    /// Returns the signers and open votes after the newest header.
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

#[cfg(test)]
mod tests;

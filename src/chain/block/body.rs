//! Whether a block's body is the one that its header, and so its hash, names; and what else of a block is computed once.

use std::sync::OnceLock;

use alloy_primitives::{B256, Bytes};

use super::Block;
use crate::chain::fork_fields::predictable_mix_hash;

/// A body that is not the one that the header names: another body under the hash of a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The payload's keccak is not `extraData`.
    #[error("the body is not this header's: extraData is {got}, the payload gives {want}")]
    Payload {
        /// `extraData` in the header.
        got: Bytes,
        /// Keccak of the payload; empty without a payload.
        want: Bytes,
    },
    /// The transactions have another root.
    #[error("the body is not this header's: transactionsRoot is {got}, the transactions give {want}")]
    Transactions {
        /// Root in the header.
        got: B256,
        /// Root of the transactions.
        want: B256,
    },
}

/// What is computed once for all clones of a block. It follows from the rest of the block, so that all of them are equal.
#[derive(Debug, Default)]
pub(super) struct Memos {
    /// Whether the transactions have the header's root.
    has_root: OnceLock<bool>,
    /// Digest of the body.
    body_digest: OnceLock<B256>,
    /// Whether `mixHash` is the predictable one.
    has_predictable_mix: OnceLock<bool>,
}

impl PartialEq for Memos {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Memos {}

impl Block {
    /// Checks that payload and transactions are those that the header commits to. Whoever relays or serves a block can
    /// replace them under the same hash, and no author's signature covers them but through the header. The transactions'
    /// root is computed once for all clones of the block.
    ///
    /// Interventions are not checked: the header names them by its state root alone.
    ///
    /// # Errors
    /// [`BodyError`]: the first part that differs.
    pub fn check_body(&self) -> Result<(), BodyError> {
        if !self.commits_to_payload() {
            let want = Self::extra_data_of(self.payload()).unwrap_or_default();
            if self.header().extra_data != want {
                return Err(BodyError::Payload { got: self.header().extra_data.clone(), want });
            }
        }
        if self.has_root_of_transactions() {
            return Ok(());
        }
        Err(BodyError::Transactions { got: self.header().transactions_root, want: self.computed_transactions_root() })
    }

    /// Returns whether the transactions have the header's root.
    pub(in crate::chain) fn has_root_of_transactions(&self) -> bool {
        let compute = || self.header().transactions_root == self.computed_transactions_root();
        *self.unsealed.memos.has_root.get_or_init(compute)
    }

    /// Returns a digest of what [`Block::has_same_body`] compares, computed once for all clones of the block. Blocks with one hash may have
    /// different bodies: a header commits to its body, and a liar's block breaks that.
    pub(crate) fn body_digest(&self) -> B256 {
        *self.unsealed.memos.body_digest.get_or_init(|| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&(self.transactions().len() as u64).to_be_bytes());
            for transaction in self.transactions() {
                hasher.update(transaction.hash().as_slice());
            }
            hasher.update(self.payload());
            for intervention in self.interventions() {
                hasher.update(format!("{intervention:?}").as_bytes());
            }
            B256::new(*hasher.finalize().as_bytes())
        })
    }

    /// Returns whether `mixHash` is the [predictable one](predictable_mix_hash), computed once for all clones of the block.
    pub(crate) fn has_predictable_mix_hash(&self) -> bool {
        let compute = || self.header().mix_hash == predictable_mix_hash(self.parent_hash(), self.height());
        *self.unsealed.memos.has_predictable_mix.get_or_init(compute)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        chain::{roots, tests::fixture::transfer},
        primitives::{Address, Header},
    };

    #[test]
    fn a_body_is_bound_by_its_header() {
        let transactions = vec![transfer(0, 0, Address::ZERO, 1)];
        let payload = Bytes::from_static(b"payload");
        let header = Header {
            transactions_root: roots::transactions_root(&transactions),
            extra_data: Block::extra_data_of(&payload).unwrap(),
            ..Header::default()
        };
        let with = |transactions: &[Arc<_>], payload: &[u8]| {
            Block::new(header.clone(), transactions.to_vec(), Bytes::copy_from_slice(payload), Vec::new())
        };
        let block = with(&transactions, &payload);
        assert_eq!((block.check_body(), block.check_body()), (Ok(()), Ok(())));
        assert_eq!(block, with(&transactions, &payload), "what is memoised makes no difference");
        for other in [with(&transactions, b"other"), with(&transactions, b"")] {
            assert_eq!(other.hash(), block.hash());
            assert!(matches!(other.check_body(), Err(BodyError::Payload { .. })));
        }
        let other = with(&[], &payload);
        let want = roots::transactions_root(&[]);
        assert_eq!(other.check_body(), Err(BodyError::Transactions { got: header.transactions_root, want }));
    }
}

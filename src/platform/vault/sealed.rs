//! A secret as it is stored, its purposes, and the vault's errors.

use serde::{Deserialize, Serialize};

use super::MasterKeyId;
use crate::platform::{
    entropy::EntropyError,
    records::{Index, Reach, Record, RecordError, SortKey},
};

/// What a secret is for; part of its associated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Purpose {
    /// The key of the hashes of API keys and invitations.
    TokenHashes,
    /// The token of an invitation, until its mail is sent.
    InvitationToken,
    /// The token of a mail that confirms an address or resets a password, until its mail is sent.
    MailedToken,
    /// The mnemonic of the treasury of a chain that was made before wallets were.
    ChainTreasury,
    /// The seed of a chain's draws and the private keys of its validators.
    ChainValidators,
    /// The private key of a wallet.
    WalletKey,
    /// A request under an idempotency key, until it is answered.
    IdempotentRequest,
    /// The response to a request under an idempotency key.
    IdempotentResponse,
    /// What signs the deliveries of a webhook.
    WebhookSecret,
}

impl Purpose {
    /// Every purpose.
    pub(super) const ALL: [Self; 9] = [
        Self::TokenHashes,
        Self::InvitationToken,
        Self::MailedToken,
        Self::ChainTreasury,
        Self::ChainValidators,
        Self::WalletKey,
        Self::IdempotentRequest,
        Self::IdempotentResponse,
        Self::WebhookSecret,
    ];

    /// Name of the purpose, which never changes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenHashes => "token-hashes",
            Self::InvitationToken => "invitation-token",
            Self::MailedToken => "mailed-token",
            Self::ChainTreasury => "chain-treasury",
            Self::ChainValidators => "chain-validators",
            Self::WalletKey => "wallet-key",
            Self::IdempotentRequest => "idempotent-request",
            Self::IdempotentResponse => "idempotent-response",
            Self::WebhookSecret => "webhook-secret",
        }
    }
}

/// A secret in the store: encrypted under a data key, which is wrapped by a master key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecret {
    pub(super) master_key: [u8; 8],
    /// Nonce of the wrapped data key, 24 bytes.
    pub(super) key_nonce: [u8; 24],
    /// The data key, encrypted, and its tag.
    pub(super) wrapped_key: Vec<u8>,
    /// Nonce of the secret, 12 bytes.
    pub(super) nonce: [u8; 12],
    /// The secret, encrypted, and its tag.
    pub(super) ciphertext: Vec<u8>,
}

impl SealedSecret {
    /// Secrets of the whole service by the master key that they are under, for its rotation.
    pub(super) const BY_MASTER_KEY: Index<Self> = Index::ordered(
        "master-key",
        Reach::Service,
        |sealed| Some(SortKey::new().bytes(&sealed.value.master_key)),
        |_| SortKey::new(),
    );

    /// Id of the master key that wraps the data key.
    pub const fn master_key(&self) -> MasterKeyId {
        MasterKeyId::from_bytes(self.master_key)
    }
}

impl Record for SealedSecret {
    const KIND: &'static str = "secret";
    const INDICES: &'static [Index<Self>] = &[Self::BY_MASTER_KEY];
}

/// A failed operation of the vault. No message has anything of a secret or a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The master key is not usable.
    #[error("the master key in {place} is not usable: {reason}")]
    MasterKey {
        /// File or environment variable.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such secret.
    #[error("the vault has no secret {id:?} for {}", purpose.name())]
    Missing {
        /// Id of the secret.
        id: String,
        /// What it would be for.
        purpose: Purpose,
    },
    /// The secret is under a master key that is not at hand.
    #[error(
        "a secret is under the master key {wanted}, the present one is {current}; start with the key that the store was made with, \
         or name it as a former key"
    )]
    UnknownMasterKey {
        /// Id of the key that is needed.
        wanted: MasterKeyId,
        /// Id of the present key.
        current: MasterKeyId,
    },
    /// The secret does not open: it was changed, moved, or is for another purpose.
    #[error("the secret {id:?} for {} does not open: its bytes, its place or its purpose are not those it was sealed with", purpose.name())]
    NotAuthentic {
        /// Id of the secret.
        id: String,
        /// Purpose for which it was asked.
        purpose: Purpose,
    },
    /// The wrapped data key of a secret does not open: it was changed or moved.
    #[error(
        "the data key of the secret {id:?} does not open: its bytes or its place are not those it was wrapped with"
    )]
    ChangedKey {
        /// Id of the secret.
        id: String,
    },
    /// The secret is longer than the cipher takes, 256 GiB.
    #[error("the secret {id:?} is too long to be sealed")]
    TooLong {
        /// Id of the secret.
        id: String,
    },
    /// No random bytes were to be had.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The records failed.
    #[error(transparent)]
    Record(#[from] RecordError),
}

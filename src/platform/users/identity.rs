//! Identities of users with other providers (OpenID Connect Core 1.0, 2: issuer and subject together name a user for ever).

use alloy_primitives::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Users;
use crate::platform::{
    PlatformError,
    records::{Index, Owner, Reach, Record, SortKey, Stored},
    workspace::{User, normalised_email},
};

/// A user's identity with another provider. Its id is a hash of issuer and subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Issuer identifier of the provider.
    pub issuer: String,
    /// Subject identifier with the provider.
    pub subject: String,
    /// Id of the user.
    pub user: String,
}

impl Identity {
    /// Identities of a user.
    pub const BY_USER: Index<Self> = Index::ordered(
        "user",
        Reach::Service,
        |identity| Some(SortKey::new().text(&identity.value.user)),
        |identity| SortKey::new().number(identity.created_at_ms()),
    );
}

impl Record for Identity {
    const KIND: &'static str = "identity";
    const INDICES: &'static [Index<Self>] = &[Self::BY_USER];
}

fn id(issuer: &str, subject: &str) -> String {
    let digest = Sha256::new_with_prefix(issuer.as_bytes()).chain_update([0]).chain_update(subject).finalize();
    format!("idn_{}", hex::encode(&digest[..28]))
}

impl Users<'_> {
    /// Returns the user with an identity: the one that it is linked to; else the one with the address that the provider has verified, which
    /// is linked then; else a new one with that address and a workspace of its own.
    ///
    /// An address decides only where the provider says that it is verified (OpenID Connect Core 1.0, 5.7: an address may change hands, so
    /// issuer and subject come first).
    ///
    /// # Errors
    /// [`PlatformError::Forbidden`] for an unknown identity without a verified address, [`PlatformError::Validation`] for an address that is
    /// none.
    pub fn by_identity(
        &self,
        issuer: &str,
        subject: &str,
        verified_email: Option<&str>,
    ) -> Result<Stored<User>, PlatformError> {
        let identity_id = id(issuer, subject);
        self.context.records.unit(|unit| {
            if let Some(identity) = unit.of::<Identity>().get(&Owner::Service, &identity_id)? {
                return Ok(unit.of::<User>().require(&Owner::Service, &identity.value.user)?);
            }
            let email = verified_email.ok_or_else(|| PlatformError::Forbidden {
                message:
                    "the provider gave no verified address of e-mail: confirm it there, or sign up with a password"
                        .to_owned(),
            })?;
            let email = normalised_email(email)?;
            let user = match self.by_email(unit, &email)? {
                Some(user) => user,
                None => self.insert(unit, &email, None)?,
            };
            let identity =
                Identity { issuer: issuer.to_owned(), subject: subject.to_owned(), user: user.id().to_owned() };
            unit.insert(&Owner::Service, &identity_id, identity)?;
            self.audit(unit, user.id(), "user.link-identity")?;
            Ok(user)
        })
    }
}

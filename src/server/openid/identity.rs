//! Who has logged in.

/// A person as a provider knows them. Issuer and subject together are the person, for ever; an address may change hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Issuer, exactly as configured.
    pub issuer: String,
    /// Subject: the provider's own id of the person.
    pub subject: String,
    /// E-mail address, where the provider gives one.
    pub email: Option<String>,
    /// Whether the provider says that the address is the person's. Only then may it decide which account is theirs.
    pub email_verified: bool,
    /// Full name, where the provider gives one.
    pub name: Option<String>,
}

//! Ids of proposals.

use alloy_primitives::B256;

use crate::platform::PlatformError;

/// What ids of proposals begin with.
const PREFIX: &str = "prop_";
/// What ids of chains begin with.
const CHAIN_PREFIX: &str = "bc_";

/// Id of a proposal, unique in the service: it names the chain and the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalId {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Hash of the transaction that made it.
    pub transaction: B256,
    /// Its place among those that the transaction made, from 0.
    pub place: usize,
}

impl ProposalId {
    /// Names the first proposal of a transaction.
    pub fn new(chain: &str, transaction: B256) -> Self {
        Self { blockchain_id: chain.to_owned(), transaction, place: 0 }
    }

    /// Returns the text: `prop_`, the chain's id without its prefix, `_`, 64 hex digits of the transaction's hash, and for others than its
    /// first proposal `-` and the place.
    pub fn text(&self) -> String {
        let chain = self.blockchain_id.strip_prefix(CHAIN_PREFIX).unwrap_or(&self.blockchain_id);
        let text = format!("{PREFIX}{chain}_{:x}", self.transaction);
        if self.place == 0 { text } else { format!("{text}-{}", self.place) }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for what is no such id: no proposal has it.
    pub fn read(text: &str) -> Result<Self, PlatformError> {
        let parse = || {
            let (chain, rest) = text.strip_prefix(PREFIX)?.rsplit_once('_')?;
            let (hash, place) =
                rest.split_once('-').map_or((rest, Some(0)), |(hash, place)| (hash, place.parse().ok()));
            let transaction = (hash.len() == 64).then(|| hash.parse().ok()).flatten()?;
            Some(Self { blockchain_id: format!("{CHAIN_PREFIX}{chain}"), transaction, place: place? })
        };
        // One text for one proposal.
        let read = parse().filter(|id| id.text() == text);
        read.ok_or_else(|| PlatformError::not_found("proposal", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_and_others_are_nobodys() {
        let id = ProposalId::new("bc_0123456789abcdef", B256::repeat_byte(0xab));
        assert_eq!(id.text(), format!("prop_0123456789abcdef_{}", "ab".repeat(32)));
        let third = ProposalId { place: 2, ..id.clone() };
        for id in [&id, &third] {
            assert_eq!(ProposalId::read(&id.text()).as_ref(), Ok(id));
        }
        for text in ["", "none_0123456789abcdef", "prop_x_12", &format!("{}-0", id.text()), &format!("{}0", id.text())]
        {
            assert!(matches!(ProposalId::read(text), Err(PlatformError::NotFound { .. })), "{text}");
        }
    }
}

//! Signing with a wallet's key.

use alloy_primitives::{Address, B256, Bytes};

use super::Wallets;
use crate::{
    chain::CallRequest,
    node::Node,
    platform::{
        PlatformError,
        blockchain::Blockchain,
        context::audit,
        principal::Principal,
        records::{AuditLine, Owner, Unit},
        vault::Purpose,
    },
    primitives::{KeyPair, Transaction, TransactionRequest},
};

/// What the audit log calls a signature.
const SIGN: &str = "wallet.sign";

/// Returns the chain of the transaction that a line of the audit log says was signed, and what the line says to those who may not read that
/// chain; `None` of other lines.
pub(in crate::platform) fn without_transaction(line: &AuditLine) -> Option<(&str, String)> {
    let (wallet, rest) = line.target.split_once(": transaction ").filter(|_| line.action == SIGN)?;
    let (_, chain) = rest.split_once(" on ")?;
    Some((chain, format!("{wallet}: a transaction on {chain}")))
}

impl Wallets<'_> {
    /// Returns whether the service can sign for an address on a chain: a wallet of the principal's workspace, or an account of the node
    /// of its own chain.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn can_sign(&self, principal: &Principal, chain: &Blockchain, address: Address) -> Result<bool, PlatformError> {
        let owner = principal.owner();
        Ok(unlocked(chain, &owner, address).is_some() || self.with_address(&owner, address)?.is_some())
    }

    /// Fills in the transaction that a request asks for, of a sender for which [`Wallets::can_sign`] holds: the nonce by the chain's pool,
    /// the gas by a simulation. The caller keeps others from sending for the same account on this chain until it has sent it.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] of `from` for another sender, [`PlatformError::Conflict`] for what would fail.
    pub(in crate::platform) fn prepare(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        request: CallRequest,
    ) -> Result<Unsigned, PlatformError> {
        let (owner, sender) = (principal.owner(), request.from.unwrap_or_default());
        if let Some(node) = unlocked(chain, &owner, sender) {
            return node.fill(request).map(Box::new).map(Unsigned::ByNode).map_err(PlatformError::from_send);
        }
        let Some(wallet) = self.with_address(&owner, sender)? else {
            let expected = "a wallet of the workspace, for which this service can sign";
            return Err(PlatformError::field("from", expected, sender.to_string()));
        };
        let unsigned = chain.node().unsigned(request).map_err(PlatformError::from_send)?;
        Ok(Unsigned::ByWallet(wallet.id().to_owned(), Box::new(unsigned)))
    }

    /// Signs a prepared transaction. The use of a wallet's key is a line of the audit log.
    ///
    /// # Errors
    /// Those of the vault.
    pub(in crate::platform) fn sign(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        chain: &Blockchain,
        unsigned: Unsigned,
    ) -> Result<Transaction, PlatformError> {
        let (wallet, unsigned) = match unsigned {
            Unsigned::ByNode(signed) => return Ok(*signed),
            Unsigned::ByWallet(wallet, unsigned) => (wallet, unsigned),
        };
        let key = self.key(&principal.owner(), &wallet)?;
        let signed = unsigned.sign(&key).map_err(PlatformError::internal)?;
        let target = format!("wallet {wallet}: transaction {} on {}", signed.hash(), chain.id());
        audit(unit, principal, SIGN, target)?;
        Ok(signed)
    }

    /// Signs a hash by which a wallet of the principal's workspace agrees to something on a chain, and returns the signature's 65 bytes;
    /// `None` for an address that is no such wallet. The audit log says what it `agrees` to.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store or the vault fails.
    pub(in crate::platform) fn sign_hash(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        address: Address,
        (hash, agrees): (B256, &str),
    ) -> Result<Option<Bytes>, PlatformError> {
        let owner = principal.owner();
        let Some(wallet) = self.with_address(&owner, address)? else { return Ok(None) };
        let signature = self.key(&owner, wallet.id())?.sign_hash(hash);
        self.context
            .records
            .unit(|unit| audit(unit, principal, SIGN, format!("wallet {}: {agrees} on {}", wallet.id(), chain.id())))?;
        Ok(Some(Bytes::from(signature.as_bytes())))
    }

    /// Returns the key of the wallet with this id.
    fn key(&self, owner: &Owner, wallet: &str) -> Result<KeyPair, PlatformError> {
        let opened = self.context.vault.open(&self.context.records, owner, wallet, Purpose::WalletKey)?;
        let wrong = || PlatformError::internal(format!("the key of {wallet} has another length"));
        let secret = opened.bytes().first_chunk::<32>().filter(|_| opened.bytes().len() == 32).ok_or_else(wrong)?;
        KeyPair::from_bytes(&B256::from(*secret)).map_err(PlatformError::internal)
    }
}

/// A transaction that is about to be signed.
pub(in crate::platform) enum Unsigned {
    /// One of the default chain's accounts, whose node has signed it.
    ByNode(Box<Transaction>),
    /// One of the wallet with this id.
    ByWallet(String, Box<TransactionRequest>),
}

/// The node of a principal's own chain, if it holds the key of this account.
fn unlocked<'a>(chain: &'a Blockchain, owner: &Owner, address: Address) -> Option<&'a Node> {
    Some(chain.node()).filter(|node| chain.owner() == owner && node.accounts().contains(&address))
}

//! Wallets: accounts whose keys the service drew and keeps in the vault. It signs with them for a principal of their workspace.
//!
//! A workspace has one managed wallet from its first day, the default sender of what the service signs for it; a chain has a treasury,
//! which got the premine. Each signature is a line of the audit log.

mod signing;

pub(super) use self::signing::without_transaction;

use alloy_primitives::{Address, B256};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{
    PlatformError,
    blockchain::{Blockchain, draw_key},
    context::Context,
    principal::Principal,
    records::{Collection, Index, Owner, Reach, Record, RecordError, SortKey, Stored, Unit},
    vault::Purpose,
};
use crate::{node::BlockRef, primitives::KeyPair};

/// What a wallet is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WalletUse {
    /// It signs for the members of its workspace.
    Managed,
    /// It got the premine of the chain with this id.
    Treasury(String),
    /// It operates a validator of the chain with this id from genesis on.
    Operator(String),
}

/// A wallet of a workspace. Its key is in the vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wallet {
    /// Name of the wallet.
    pub name: String,
    /// Address of its account, on every chain.
    pub address: Address,
    /// What it is for.
    pub purpose: WalletUse,
}

impl Wallet {
    const BY_ADDRESS: Index<Self> =
        Index::unique("address", Reach::Owner, |wallet| Some(address_key(wallet.value.address)));
    /// Wallets of a workspace by name.
    pub(super) const BY_NAME: Index<Self> = Index::ordered(
        "name",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |wallet| SortKey::new().text(&wallet.value.name),
    );
    const MANAGED: Index<Self> = Index::unique("managed", Reach::Owner, |wallet| {
        (wallet.value.purpose == WalletUse::Managed).then(SortKey::new)
    });
}

impl Record for Wallet {
    const KIND: &'static str = "wallet";
    const INDICES: &'static [Index<Self>] = &[Self::BY_ADDRESS, Self::MANAGED, Self::BY_NAME, Index::UPDATED];
}

fn address_key(address: Address) -> SortKey {
    SortKey::new().bytes(address.as_slice())
}

/// Draws the managed wallet of a workspace, in the unit that makes the workspace. One that is there stays.
///
/// # Errors
/// [`PlatformError::Entropy`], and those of the records.
pub(super) fn create_managed(
    context: &Context,
    unit: &mut Unit<'_>,
    owner: &Owner,
) -> Result<Stored<Wallet>, PlatformError> {
    match managed_in(unit, owner)? {
        Some(wallet) => Ok(wallet),
        None => create(context, unit, owner, &context.id("wal")?, "managed".to_owned(), WalletUse::Managed),
    }
}

/// Returns the managed wallet of a workspace, as a unit of work sees it.
pub(super) fn managed_in(unit: &Unit<'_>, owner: &Owner) -> Result<Option<Stored<Wallet>>, RecordError> {
    unit.of::<Wallet>().find(&Wallet::MANAGED, owner, &SortKey::new())
}

/// Draws the treasury of a chain.
pub(super) fn create_treasury(
    context: &Context,
    unit: &mut Unit<'_>,
    owner: &Owner,
    chain: &str,
    name: &str,
) -> Result<Stored<Wallet>, PlatformError> {
    let name = format!("treasury of {name}");
    create(context, unit, owner, &treasury_id(chain), name, WalletUse::Treasury(chain.to_owned()))
}

/// Draws the wallet that operates a validator of a chain, by its number from 1 on.
pub(super) fn create_operator(
    context: &Context,
    unit: &mut Unit<'_>,
    owner: &Owner,
    chain: &str,
    number: usize,
) -> Result<Stored<Wallet>, PlatformError> {
    let (id, name) = (operator_id(chain, number), format!("validator {number} of {chain}"));
    create(context, unit, owner, &id, name, WalletUse::Operator(chain.to_owned()))
}

/// Deletes the treasury of a chain, and the wallets of up to `operators` validators, with their keys; what is not there is no error.
pub(super) fn delete_of_chain(
    context: &Context,
    unit: &mut Unit<'_>,
    owner: &Owner,
    (chain, operators): (&str, usize),
) -> Result<(), PlatformError> {
    let ids = (1..=operators).map(|number| operator_id(chain, number)).chain([treasury_id(chain)]);
    for id in ids {
        if let Some(wallet) = unit.of::<Wallet>().get(owner, &id)? {
            delete(context, unit, &wallet)?;
        }
    }
    Ok(())
}

fn operator_id(chain: &str, number: usize) -> String {
    format!("{}_{number}", treasury_id(chain))
}

/// Deletes all wallets of a workspace with their keys, in the unit that deletes the workspace.
pub(super) fn delete_all(context: &Context, unit: &mut Unit<'_>, owner: &Owner) -> Result<(), PlatformError> {
    let mut wallets = Vec::new();
    unit.of::<Wallet>().for_each(&Index::CREATED, owner, &SortKey::new(), |wallet| {
        wallets.push(wallet);
        Ok::<_, RecordError>(())
    })?;
    wallets.iter().try_for_each(|wallet| delete(context, unit, wallet))
}

fn treasury_id(chain: &str) -> String {
    format!("wal_{}", chain.trim_start_matches("bc_"))
}

fn create(
    context: &Context,
    unit: &mut Unit<'_>,
    owner: &Owner,
    id: &str,
    name: String,
    purpose: WalletUse,
) -> Result<Stored<Wallet>, PlatformError> {
    let mut secret = Zeroizing::new([0; 32]);
    draw_key(&*context.entropy, &mut *secret)?;
    let key = KeyPair::from_bytes(&B256::from(*secret)).map_err(PlatformError::internal)?;
    context.vault.seal(unit, owner, id, Purpose::WalletKey, &*secret)?;
    Ok(unit.insert(owner, id, Wallet { name, address: key.address(), purpose })?)
}

fn delete(context: &Context, unit: &mut Unit<'_>, wallet: &Stored<Wallet>) -> Result<(), PlatformError> {
    context.vault.discard(unit, wallet.owner(), wallet.id())?;
    Ok(unit.delete(wallet)?)
}

/// Rules of wallets.
#[derive(Clone, Copy, Debug)]
pub struct Wallets<'a> {
    pub(super) context: &'a Context,
}

impl<'a> Wallets<'a> {
    /// The wallets, for reading.
    pub fn records(&self) -> Collection<'a, Wallet> {
        self.context.records.of()
    }

    /// Returns the managed wallet of a workspace; `None` of one that was made before wallets were.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn managed(&self, owner: &Owner) -> Result<Option<Stored<Wallet>>, PlatformError> {
        Ok(self.records().find(&Wallet::MANAGED, owner, &SortKey::new())?)
    }

    /// Returns the wallet of a workspace with this address.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn with_address(&self, owner: &Owner, address: Address) -> Result<Option<Stored<Wallet>>, PlatformError> {
        Ok(self.records().find(&Wallet::BY_ADDRESS, owner, &address_key(address))?)
    }

    /// Returns who sends what the service signs for a principal that names nobody: on a chain whose node holds accounts (the default
    /// chain) the first of them, else the workspace's managed wallet; where that has nothing on the chain, the treasury, if the chain is
    /// the workspace's own.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] without any, and those of reading.
    pub fn default_sender(&self, principal: &Principal, chain: &Blockchain) -> Result<Address, PlatformError> {
        let owner = principal.owner();
        let is_own = *chain.owner() == owner;
        if let Some(first) = chain.node().accounts().first().filter(|_| is_own) {
            return Ok(*first);
        }
        let treasury = chain.treasury().filter(|_| is_own);
        let view = chain.node().view();
        let has_nothing = |address: Address| -> Result<bool, PlatformError> {
            Ok(view.balance(address, BlockRef::Pending).map_err(PlatformError::from_query)?.is_zero())
        };
        match (self.managed(&owner)?.map(|wallet| wallet.value.address), treasury) {
            (Some(managed), Some(treasury)) => Ok(if has_nothing(managed)? { treasury } else { managed }),
            (Some(sender), None) | (None, Some(sender)) => Ok(sender),
            (None, None) => {
                let message = "the workspace has no wallet to send with: send a signed transaction".to_owned();
                Err(PlatformError::Conflict { message })
            }
        }
    }
}

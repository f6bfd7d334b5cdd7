//! The check of a store: whether it opens in this version, indices say what records say, every secret and every chain opens.

use core::ops::ControlFlow;
use std::sync::Arc;

use super::chains::{StoredChain, stored_chains};
use crate::{
    chain::Chain,
    node::Clock,
    platform::{
        ApiKey, BlockchainRecord, DappRecord, DeploymentRecord, HostedModule, HostedValidator, OsEntropy, Project,
        Session, TransactionRecord, User, Wallet, Webhook, Workspace,
        attempts::Attempts,
        complete_indices,
        evidence::GivenEvidence,
        modules::proposed::ProposedModule,
        oauth::{AccessToken, DeletedClient, EndedToken, Grant, OAuthClient},
        records::{AuditLine, IdempotentRequest, OutboxEntry, Record, RecordError, Records},
        users::{Bootstrap, Identity, MailedToken},
        vault::{MasterKey, SealedSecret, Vault},
        workspace::{Invitation, Member, SentInvitations},
    },
    state::EMPTY_ROOT,
    store::{KeyValue, OverlayStore},
};

/// What the check of a store found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Format of the records; `None` in a store without any.
    pub format: Option<u32>,
    /// Kinds of records, with how many there are of each.
    pub records: Vec<(&'static str, u64)>,
    /// Secrets that the vault opened; `None` when no master key was given.
    pub secrets: Option<u64>,
    /// Chains that open, with their heads' states.
    pub chains: Vec<CheckedChain>,
    /// What is wrong, one sentence each.
    pub faults: Vec<String>,
}

/// A chain that opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedChain {
    /// Its id.
    pub id: String,
    /// Name of its state, such as `running`.
    pub state: &'static str,
    /// Height of its head; `None` of a chain that is not built yet.
    pub height: Option<u64>,
    /// Accounts in its head's state.
    pub accounts: u64,
}

/// Checks a store that no service uses. What opening it would change (migrations, recovery) is tried out in memory; the store stays as it is.
/// Without a master key secrets are counted and not opened.
pub fn check(store: &Arc<dyn KeyValue>, clock: Arc<dyn Clock>, master_key: Option<MasterKey>) -> CheckReport {
    let mut report = CheckReport::default();
    if let Err(cause) = run(store, clock, master_key, &mut report) {
        report.faults.push(cause.to_string());
    }
    report
}

fn run(
    store: &Arc<dyn KeyValue>,
    clock: Arc<dyn Clock>,
    master_key: Option<MasterKey>,
    report: &mut CheckReport,
) -> Result<(), RecordError> {
    report.format = Records::format_of(&**store)?;
    let overlay: Arc<dyn KeyValue> = Arc::new(OverlayStore::new(Arc::clone(store)));
    let records = Records::open(Arc::clone(&overlay), clock)?;
    complete_indices(&records)?;
    check_records(&records, report)?;
    if let Some(key) = master_key {
        match Vault::new(key, Arc::new(OsEntropy)).verify(&records) {
            Ok(count) => report.secrets = Some(count),
            Err(cause) => report.faults.push(cause.to_string()),
        }
    }
    for chain in stored_chains(&overlay, &records)? {
        match check_chain(&chain) {
            Ok(checked) => report.chains.push(checked),
            Err(reason) => report.faults.push(format!("blockchain {}: {reason}", chain.id)),
        }
    }
    Ok(())
}

/// A kind of record and its check.
pub(super) type Kind = (&'static str, fn(&Records) -> Result<u64, RecordError>);

const fn kind<T: Record>() -> Kind {
    (T::KIND, Records::verify::<T>)
}

/// Every kind of record.
pub(super) const KINDS: [Kind; 31] = [
    kind::<AccessToken>(),
    kind::<ApiKey>(),
    kind::<Attempts>(),
    kind::<AuditLine>(),
    kind::<BlockchainRecord>(),
    kind::<Bootstrap>(),
    kind::<DappRecord>(),
    kind::<DeletedClient>(),
    kind::<DeploymentRecord>(),
    kind::<EndedToken>(),
    kind::<GivenEvidence>(),
    kind::<Grant>(),
    kind::<HostedModule>(),
    kind::<HostedValidator>(),
    kind::<IdempotentRequest>(),
    kind::<Identity>(),
    kind::<Invitation>(),
    kind::<MailedToken>(),
    kind::<Member>(),
    kind::<OAuthClient>(),
    kind::<OutboxEntry>(),
    kind::<SealedSecret>(),
    kind::<Project>(),
    kind::<ProposedModule>(),
    kind::<SentInvitations>(),
    kind::<Session>(),
    kind::<TransactionRecord>(),
    kind::<User>(),
    kind::<Wallet>(),
    kind::<Webhook>(),
    kind::<Workspace>(),
];

fn check_records(records: &Records, report: &mut CheckReport) -> Result<(), RecordError> {
    for (kind, verify) in KINDS {
        match verify(records) {
            Ok(count) => report.records.push((kind, count)),
            Err(cause) => report.faults.push(cause.to_string()),
        }
    }
    let unknown = records.kinds()?.into_iter().filter(|found| !KINDS.iter().any(|(kind, _)| kind == found));
    report.faults.extend(
        unknown.map(|kind| format!("there are records of the kind {kind:?}, which this version does not know")),
    );
    Ok(())
}

/// Opens a chain and reads its head's state, every node of it.
fn check_chain(stored: &StoredChain) -> Result<CheckedChain, String> {
    let (id, state) = (stored.id.clone(), stored.state);
    let Some(chain) = stored.open()? else {
        return match stored.was_built {
            true => Err(format!("it is {state} and the store has no genesis of it")),
            false => Ok(CheckedChain { id, state, height: None, accounts: 0 }),
        };
    };
    let accounts = read_state(&chain).map_err(|cause| format!("the state after its head: {cause}"))?;
    Ok(CheckedChain { id, state, height: Some(chain.head().height().get()), accounts })
}

/// Reads the state after the head; returns the number of its accounts.
fn read_state(chain: &Chain) -> Result<u64, String> {
    let state = chain.state_of(chain.head().hash()).map_err(|cause| cause.to_string())?;
    let (mut accounts, mut owners) = (0_u64, Vec::new());
    let mut visit = |address, account: crate::state::Account| {
        accounts = accounts.saturating_add(1);
        owners.extend((account.storage_root != EMPTY_ROOT).then_some(address));
        ControlFlow::Continue(())
    };
    state.for_each_account(&mut visit).map_err(|cause| cause.to_string())?;
    for owner in owners {
        let read = state.for_each_slot(&owner, &mut |_, _| ControlFlow::Continue(()));
        read.map_err(|cause| format!("the storage of {owner}: {cause}"))?;
    }
    Ok(accounts)
}

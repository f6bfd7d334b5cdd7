//! Who reads and who changes a chain.

use core::{num::NonZeroUsize, ops::ControlFlow};
use std::{collections::BTreeSet, sync::Arc};

use super::Blockchains;
use crate::platform::{
    PlatformError,
    api_key::ApiKey,
    blockchain::{Blockchain, BlockchainRecord, ChainState, Feature},
    context::audit,
    principal::{Principal, Subject},
    records::{AuditLine, Index, Owner, PageRequest, SortKey, Stored, Unit},
    wallet::without_transaction,
    workspace::User,
};

/// Records that are read at once where a caller names no chain.
const LOOKED_AT_AT_ONCE: NonZeroUsize = NonZeroUsize::new(16).expect("not zero");
/// Participants of one chain.
const PARTICIPANTS_MAX: usize = 1_000;

/// What a principal may see of a chain at the moment.
#[derive(Clone, Debug)]
#[must_use = "what is hidden must not be shown"]
pub enum Sight {
    /// All of it: it is in memory.
    Open(Arc<Blockchain>),
    /// All of it, when it is in memory again.
    Away,
    /// Nothing of what is on it: its participants alone do.
    Hidden,
}

impl Sight {
    /// The chain, where it is seen.
    pub fn chain(&self) -> Option<&Arc<Blockchain>> {
        match self {
            Self::Open(chain) => Some(chain),
            Self::Away | Self::Hidden => None,
        }
    }

    /// Whether the principal may not see what is on the chain.
    pub const fn is_hidden(&self) -> bool {
        matches!(self, Self::Hidden)
    }
}

impl Blockchains<'_> {
    /// Returns what a principal may see of a chain: what is shown of things on a chain, in lists with others, goes by it. One that is gone
    /// shows nothing.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn sight(&self, principal: &Principal, id: &str) -> Result<Sight, PlatformError> {
        match self.readable_record(principal, id) {
            Ok(stored) => Ok(self.hosted.get(stored.id()).map_or(Sight::Away, Sight::Open)),
            Err(PlatformError::NotFound { .. } | PlatformError::Forbidden { .. }) => Ok(Sight::Hidden),
            Err(cause) => Err(cause),
        }
    }

    /// Returns what a line of the audit log was done to, as a principal may know it: of a transaction on a chain that it may not read, the
    /// chain alone.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn shown_target(&self, principal: &Principal, line: &AuditLine) -> Result<String, PlatformError> {
        let Some((chain, masked)) = without_transaction(line) else { return Ok(line.target.clone()) };
        match self.readable_record(principal, chain) {
            Err(PlatformError::Forbidden { .. }) => Ok(masked),
            // Of a chain that is gone a hash tells nothing.
            Ok(_) | Err(PlatformError::NotFound { .. }) => Ok(line.target.clone()),
            Err(cause) => Err(cause),
        }
    }

    /// Returns the record of a chain of the principal's workspace, in any state.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`], also for a chain of somebody else.
    pub fn record(&self, principal: &Principal, id: &str) -> Result<Stored<BlockchainRecord>, PlatformError> {
        Ok(self.context.records.of::<BlockchainRecord>().require(&principal.owner(), id)?)
    }

    /// Returns a chain of which the principal may read blocks, transactions, logs, state and figures: one of its workspace, or a public
    /// one; with [`Feature::Privacy`] those on its list of participants alone, of whatever workspace, and the service itself for its owner. An
    /// access token is its user's in the workspace that it acts in, and not a participant's elsewhere.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for a chain that is not the principal's to know of, [`PlatformError::Forbidden`] for a member of its
    /// workspace who is no participant, [`PlatformError::Conflict`] for one that is not in memory, with its state.
    pub fn readable(&self, principal: &Principal, id: &str) -> Result<Arc<Blockchain>, PlatformError> {
        let stored = self.readable_record(principal, id)?;
        self.in_memory(&stored)
    }

    /// Returns a chain of the principal's workspace that takes transactions, and that the principal may read.
    ///
    /// # Errors
    /// As [`Blockchains::readable`]; [`PlatformError::Forbidden`] for a public chain of another workspace, [`PlatformError::Conflict`] for
    /// one that does not run, with its state, and when the gas of the workspace's plan is used up.
    pub fn writable(&self, principal: &Principal, id: &str) -> Result<Arc<Blockchain>, PlatformError> {
        let stored = self.readable_record(principal, id)?;
        if *stored.owner() != principal.owner() {
            let message = format!("blockchain {id} is another workspace's: its members alone send to it");
            return Err(PlatformError::Forbidden { message });
        }
        let chain = self.in_memory(&stored)?;
        self.context.check_gas(stored.owner())?;
        match stored.value.state {
            ChainState::Running => Ok(chain),
            other => Err(PlatformError::Conflict {
                message: format!("blockchain {id} is {}: it takes no transactions", other.name()),
            }),
        }
    }

    /// Returns whether the plan of a chain's workspace has gas left.
    pub fn has_gas_left(&self, chain: &Blockchain) -> bool {
        self.context.check_gas(chain.owner()).is_ok()
    }

    /// Calls `visit` with each chain in memory that the principal may read, in the order of their ids, until it breaks.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails, and those of `visit`.
    pub fn each_readable(
        &self,
        principal: &Principal,
        visit: &mut dyn FnMut(&Blockchain, &Stored<BlockchainRecord>) -> Result<ControlFlow<()>, PlatformError>,
    ) -> Result<(), PlatformError> {
        let owner = principal.owner();
        // What is never for others costs no look-up; participants, who may be of any workspace, are in the record.
        let may_be_read = |chain: &Blockchain| {
            let spec = chain.spec();
            *chain.owner() == owner || spec.is_public() || spec.has(Feature::Privacy)
        };
        for chain in self.hosted.all_open().into_iter().filter(|chain| may_be_read(chain)) {
            match self.readable_record(principal, chain.id()) {
                Ok(record) if visit(&chain, &record)?.is_break() => return Ok(()),
                Ok(_) | Err(PlatformError::NotFound { .. } | PlatformError::Forbidden { .. }) => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }

    /// Returns the id of the only chain that the principal can see, in whatever state.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] of the field `blockchainId` where it can see none or several, and those of the store.
    pub fn only_readable(&self, principal: &Principal) -> Result<String, PlatformError> {
        let mut seen = BTreeSet::new();
        self.each_readable(principal, &mut |chain, _| {
            seen.insert(chain.id().to_owned());
            Ok(if seen.len() > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        // Chains of its workspace that are not in memory are there all the same.
        let mut request = PageRequest::first(LOOKED_AT_AT_ONCE);
        while seen.len() < 2 {
            let page = self.page(principal, &Index::CREATED, &request)?;
            let ids = page.items.iter().map(|stored| stored.id());
            seen.extend(ids.filter(|id| self.readable_record(principal, id).is_ok()).map(str::to_owned));
            let Some(next) = page.next else { break };
            request = request.after(next);
        }
        match (seen.len(), seen.pop_first()) {
            (1, Some(id)) => Ok(id),
            (0, _) => {
                Err(PlatformError::field("blockchainId", "the id of a blockchain", "none, and there is none to see"))
            }
            _ => Err(PlatformError::field("blockchainId", "the id of one of the blockchains", "none")),
        }
    }

    /// Returns the record of a chain that the principal may read, in any state.
    ///
    /// # Errors
    /// As [`Blockchains::readable`], without [`PlatformError::Conflict`].
    pub fn readable_record(&self, principal: &Principal, id: &str) -> Result<Stored<BlockchainRecord>, PlatformError> {
        let not_found = || PlatformError::not_found("blockchain", id);
        // A chain that is being made is known to its workspace alone.
        let owner = self.hosted.owner(id).unwrap_or_else(|| principal.owner());
        let stored = self.context.records.of::<BlockchainRecord>().get(&owner, id)?.ok_or_else(not_found)?;
        let is_member = owner == principal.owner();
        let spec = &stored.value.spec;
        if !spec.has(Feature::Privacy) {
            return if is_member || spec.is_public() { Ok(stored) } else { Err(not_found()) };
        }
        // The service finishes what a participant asked for, after a crash. No credentials make it a principal; the figures that are read
        // without any leave such chains out.
        let is_service = is_member && *principal.subject() == Subject::Service;
        if is_service || self.participates(principal, &stored)? {
            return Ok(stored);
        }
        Err(if is_member {
            let message = format!("blockchain {id} has the feature privacy: its participants alone read it");
            PlatformError::Forbidden { message }
        } else {
            not_found()
        })
    }

    fn in_memory(&self, stored: &Stored<BlockchainRecord>) -> Result<Arc<Blockchain>, PlatformError> {
        self.hosted.get(stored.id()).ok_or_else(|| {
            let (id, state) = (stored.id(), &self.state(stored));
            let reason = match state {
                ChainState::Failed { reason } => format!(": {reason}"),
                _ => String::new(),
            };
            let message = format!("blockchain {id} is {}{reason}: it can be read when it runs", state.name());
            PlatformError::Conflict { message }
        })
    }

    /// A key counts as its maker, too: with it somebody of another workspace reads. The user who consents to an access token is told that it
    /// acts in one workspace.
    fn participates(&self, principal: &Principal, chain: &Stored<BlockchainRecord>) -> Result<bool, PlatformError> {
        if principal.grant().is_some() && *chain.owner() != principal.owner() {
            return Ok(false);
        }
        let participants = &chain.value.participants;
        if participants.contains(principal.subject()) {
            return Ok(true);
        }
        Ok(self.maker_of(principal)?.is_some_and(|maker| participants.contains(&maker)))
    }

    /// Returns who made the API key that acts.
    fn maker_of(&self, principal: &Principal) -> Result<Option<Subject>, PlatformError> {
        let Subject::ApiKey(id) = principal.subject() else { return Ok(None) };
        let key = self.context.records.of::<ApiKey>().get(&principal.home(), id)?;
        Ok(key.map(|key| key.value.created_by))
    }

    /// Puts a user, or an API key, on the list of participants of a chain with [`Feature::Privacy`]. One that is on it stays.
    ///
    /// # Errors
    /// As [`Blockchains::readable`]: a participant alone does so; [`PlatformError::Validation`] of the field `participant` for a user or a
    /// live API key that is not there; [`PlatformError::Conflict`] for a chain without the feature and for a full list.
    pub fn add_participant(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        participant: &Subject,
    ) -> Result<Stored<BlockchainRecord>, PlatformError> {
        let is_there = is_somebody(unit, participant)?;
        self.change_participants(unit, principal, id, "blockchain.participant.add", participant, |participants| {
            if participants.contains(participant) {
                return Ok(());
            }
            if !is_there {
                let expected = "a user of the service, or an API key of it that is live";
                return Err(PlatformError::field("participant", expected, participant.to_string()));
            }
            if participants.len() >= PARTICIPANTS_MAX {
                let message =
                    format!("the chain has {PARTICIPANTS_MAX} participants, the most that one has: remove one");
                return Err(PlatformError::Conflict { message });
            }
            participants.push(participant.clone());
            Ok(())
        })
    }

    /// Takes a subject from the list of participants. One that is not on it is no error.
    ///
    /// # Errors
    /// As [`Blockchains::add_participant`]; [`PlatformError::Conflict`] for the last one, after whom nobody would read the chain.
    pub fn remove_participant(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        participant: &Subject,
    ) -> Result<Stored<BlockchainRecord>, PlatformError> {
        self.change_participants(unit, principal, id, "blockchain.participant.remove", participant, |participants| {
            if !participants.contains(participant) {
                return Err(PlatformError::not_found("participant", &participant.to_string()));
            }
            if participants.len() == 1 && participants.contains(participant) {
                let message = "it is the chain's last participant: add another first".to_owned();
                return Err(PlatformError::Conflict { message });
            }
            participants.retain(|other| other != participant);
            Ok(())
        })
    }

    fn change_participants(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        action: &str,
        participant: &Subject,
        change: impl FnOnce(&mut Vec<Subject>) -> Result<(), PlatformError>,
    ) -> Result<Stored<BlockchainRecord>, PlatformError> {
        let mut stored = unit.of::<BlockchainRecord>().require(&principal.owner(), id)?;
        if !stored.value.spec.has(Feature::Privacy) {
            let message = format!("blockchain {id} was made without the feature privacy: it has no participants");
            return Err(PlatformError::Conflict { message });
        }
        if !self.participates(principal, &stored)? {
            let message = format!("blockchain {id} has the feature privacy: its participants alone change their list");
            return Err(PlatformError::Forbidden { message });
        }
        change(&mut stored.value.participants)?;
        let stored = unit.replace(&stored)?;
        audit(unit, principal, action, format!("blockchain {id}: {participant}"))?;
        Ok(stored)
    }

    /// Who the list of participants of a new chain starts with: the principal, or the maker of its key.
    pub(super) fn first_participant(&self, principal: &Principal) -> Result<Subject, PlatformError> {
        Ok(self.maker_of(principal)?.unwrap_or_else(|| principal.subject().clone()))
    }
}

/// Returns whether a subject is somebody who can read: a user, or an API key that is live, of whatever workspace.
fn is_somebody(unit: &Unit<'_>, subject: &Subject) -> Result<bool, PlatformError> {
    match subject {
        Subject::Service => Ok(true),
        Subject::User(id) => Ok(unit.of::<User>().get(&Owner::Service, id)?.is_some()),
        Subject::ApiKey(id) => {
            let found = unit.of::<ApiKey>().find(&ApiKey::BY_ID, &Owner::Service, &SortKey::new().text(id))?;
            found.map_or(Ok(false), |key| Ok(key.value.is_active(unit.now_ms(), &unit.of())?))
        }
    }
}

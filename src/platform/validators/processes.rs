//! Stopping and starting a validator's replica.

use std::sync::Arc;

use super::{Validator, ValidatorProcess, Validators, updating::change_record};
use crate::{
    consensus::ReplicaId,
    node::PacedNetwork,
    platform::{
        PlatformError,
        blockchain::Blockchain,
        context::audit,
        principal::Principal,
        records::Unit,
        validator::{HostedValidator, ValidatorId},
    },
};

impl Validators<'_> {
    /// Stops a validator's replica: its memory is lost, its records stay. It stays down over restarts of the service. [`Validators::note`]
    /// is the second step; for one that is down without a note nothing but that is left to do.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for one that is noted as stopped or elsewhere, on a chain on demand, and as
    /// [`Blockchains::writable`](crate::platform::Blockchains::writable).
    pub fn stop(&self, principal: &Principal, id: &ValidatorId) -> Result<(), PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        let (network, replica) = hosted(&chain, &validator)?;
        if validator.process == ValidatorProcess::Down {
            if self.is_noted_stopped(&chain, id)? {
                let message = format!("validator {} is stopped already", id.text());
                return Err(PlatformError::Conflict { message });
            }
            return Ok(());
        }
        network.stop(replica).map_err(PlatformError::from_command)
    }

    /// Starts a stopped validator's replica, which catches up from the others.
    ///
    /// # Errors
    /// As [`Validators::stop`], for one that is not down.
    pub fn start(&self, principal: &Principal, id: &ValidatorId) -> Result<(), PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        let (network, replica) = hosted(&chain, &validator)?;
        if validator.process != ValidatorProcess::Down {
            if !self.is_noted_stopped(&chain, id)? {
                let message = format!("validator {} is not stopped", id.text());
                return Err(PlatformError::Conflict { message });
            }
            return Ok(());
        }
        network.start(replica).map_err(PlatformError::from_command)
    }

    /// Notes whether a validator is stopped, for the next start of the service.
    ///
    /// # Errors
    /// As [`Validators::get`].
    pub fn note(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &ValidatorId,
        is_stopped: bool,
    ) -> Result<(), PlatformError> {
        let (chain, validator) = self.get(principal, id)?;
        change_record(unit, &chain, &validator, |record| record.is_stopped = is_stopped)?;
        let action = if is_stopped { "validator.stop" } else { "validator.start" };
        audit(unit, principal, action, format!("validator {}", id.text()))
    }

    /// Returns whether a validator is noted as stopped.
    fn is_noted_stopped(&self, chain: &Blockchain, id: &ValidatorId) -> Result<bool, PlatformError> {
        let kept = self.chains.context.records.of::<HostedValidator>().get(chain.owner(), &id.text())?;
        Ok(kept.is_some_and(|kept| kept.value.is_stopped))
    }

    /// Returns a validator of a chain that takes commands of the principal.
    pub(super) fn commanded(
        &self,
        principal: &Principal,
        id: &ValidatorId,
    ) -> Result<(Arc<Blockchain>, Validator), PlatformError> {
        let found = self.get(principal, id)?;
        self.chains.writable(principal, &id.blockchain_id)?;
        Ok(found)
    }
}

fn hosted<'a>(chain: &'a Blockchain, validator: &Validator) -> Result<(&'a PacedNetwork, ReplicaId), PlatformError> {
    chain.engine().replica_of(validator.sealing_key).ok_or_else(|| {
        let message = match chain.network() {
            None => "the chain makes blocks on demand, in one process: make a chain with a blockTime".to_owned(),
            Some(_) => {
                format!("the sealing key {} is held elsewhere: stop and start it there", validator.sealing_key)
            }
        };
        PlatformError::Conflict { message }
    })
}

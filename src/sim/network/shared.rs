//! What every replica of a network has in common, and how a replica comes back from what is stored.

use super::error::NetworkError;
use crate::{
    chain::Chain,
    consensus::{Authenticator, BlockId, ConsensusConfig, Machine, Protocol, Records, ReplicaId, Signer, ValidatorSet},
};

/// What never changes.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ConsensusConfig,
    pub(crate) validators: ValidatorSet,
    pub(crate) authenticator: Authenticator,
    /// Who each replica seals as; `None` for an observer.
    pub(crate) signers: Vec<Option<Signer>>,
}

impl Shared {
    /// A replica's protocol at the head of a chain that was opened, with all that the replica had promised, and the records
    /// that it goes on from and still needs.
    ///
    /// It may have stood elsewhere when the process ended, a block behind the primary or ahead of it; the stored chain is the
    /// primary's. It then takes over what the primary knows of the chain, and keeps its own promises.
    pub(crate) fn recovered_at(
        &self,
        chain: &Chain,
        head: BlockId,
        replica: ReplicaId,
        (own, of_primary): (&Records, &Records),
    ) -> Result<(Machine, Records), NetworkError> {
        let signer = self.signers.get(replica.index()).cloned().flatten();
        if own.is_empty() && of_primary.is_empty() {
            return Ok((self.machine_at(chain, head, signer, None)?, Records::new()));
        }
        let kind = self.config.kind();
        let mut stands_at = None;
        let ways: [&dyn Fn() -> Records; 3] = [
            &|| own.clone(),
            &|| kind.promises_on(own, of_primary),
            // Of two branches of one weight the other may have won, where the head is not kept by name.
            &|| kind.promises_at_head(own, of_primary),
        ];
        for way in ways {
            let mut records = way();
            let (genesis, validators) = (chain.genesis().block(), self.validators.clone());
            let signer = signer.clone();
            let machine = self
                .config
                .recover(genesis, validators, &records, self.authenticator.clone(), signer)
                .map_err(|source| NetworkError::StoredRecords { replica, source })?;
            if machine.head() == head {
                records.retain(|key, _| machine.needs(key));
                return Ok((machine, records));
            }
            stands_at = stands_at.or(Some(machine.head()));
        }
        Err(NetworkError::OtherHead { got: stands_at.unwrap_or_default(), want: head })
    }

    /// A replica's protocol at the chain's head: by the record that was kept with it, or at genesis without one.
    pub(crate) fn machine_at(
        &self,
        chain: &Chain,
        head: BlockId,
        signer: Option<Signer>,
        head_record: Option<&[u8]>,
    ) -> Result<Machine, NetworkError> {
        let authenticator = self.authenticator.clone();
        let machine = match head_record {
            Some(record) => self.config.restore(record, authenticator, signer)?,
            None => self.config.start(chain.genesis().block(), self.validators.clone(), authenticator, signer)?,
        };
        if machine.head() == head {
            Ok(machine)
        } else {
            Err(NetworkError::OtherHead { got: machine.head(), want: head })
        }
    }
}

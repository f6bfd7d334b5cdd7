//! Whether who is proven guilty is punished.

use crate::{
    consensus::{AnyProtocol, Protocol},
    primitives::Address,
    sim::{check::offences::SeenOffences, network::replica::Replica},
    system::staking::{ValidatorStatus, interface::stakeLockedUntilCall},
};

/// Returns somebody whom `replica`, which makes blocks, can prove guilty of a slashable offence, by what its protocol keeps or by what has
/// reached its process, though the staking contract at its head lets them have their stake: a block has to report the offence. Nobody on a chain
/// without stake.
pub(super) fn unpunished(replica: &Replica, seen: &SeenOffences) -> Option<Address> {
    let mut proven = proven_offenders(replica.protocol());
    proven.extend(seen.proven_to(replica));
    // Producers report what they have seen themselves; proof is not passed on to them.
    let reports = |own: Address| replica.protocol().validators().contains(&own);
    if proven.is_empty() || !replica.address().is_some_and(reports) {
        return None;
    }
    proven.into_iter().find(|offender| is_within_reach(replica, *offender))
}

fn proven_offenders(protocol: &AnyProtocol) -> Vec<Address> {
    match protocol {
        AnyProtocol::Pos(pos) => pos.offences().map(|(offender, _)| *offender).collect(),
        AnyProtocol::Dpos(dpos) => dpos.proven_infractions().map(|(_, offender)| offender).collect(),
        AnyProtocol::Pbft(pbft) => pbft.proven_offenders().collect(),
        _ => Vec::new(),
    }
}

/// Whether the staking contract at the replica's head says that the operator of a key has stake that can be slashed, and was not slashed for good.
fn is_within_reach(replica: &Replica, validator: Address) -> bool {
    let (chain, head) = (replica.chain(), replica.chain().head());
    let Ok(record) = chain.staked_validator_of_key(head, validator) else { return false };
    let locked = chain.staking_view(head, &stakeLockedUntilCall { validator: record.address });
    let is_locked = locked.is_ok_and(|until| until > head.timestamp().as_secs());
    is_locked && !matches!(record.status, ValidatorStatus::Unknown | ValidatorStatus::Tombstoned)
}

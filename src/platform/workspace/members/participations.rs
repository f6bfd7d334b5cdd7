//! What becomes of a member's part in chains with [`Feature::Privacy`] when it goes from their workspace.

use super::user_of;
use crate::platform::{
    PlatformError,
    api_key::ApiKey,
    blockchain::{BlockchainRecord, Feature},
    context::audit,
    principal::{Principal, Subject},
    records::{Index, Owner, RecordError, SortKey, Unit},
};

/// Takes a user, and the API keys that it made, off the lists of participants of the chains of the workspace that a principal acts in. Where
/// nobody would be left on one, who removes the user takes its place.
///
/// # Errors
/// [`PlatformError::Conflict`] with the chains that a user who leaves by itself would leave without a participant.
pub(super) fn end(unit: &mut Unit<'_>, principal: &Principal, user: &str) -> Result<(), PlatformError> {
    let leaver = Subject::User(user.to_owned());
    let remover = user_of(unit, principal)?.map_or(Subject::Service, Subject::User);
    let successor = (remover != leaver).then_some(remover);
    let chains = unit.of::<BlockchainRecord>().all(&Index::CREATED, &principal.owner(), &SortKey::new())?;
    let mut left_alone = Vec::new();
    for mut chain in chains.into_iter().filter(|chain| chain.value.spec.has(Feature::Privacy)) {
        let (gone, mut staying) = parted(unit, &leaver, &chain.value.participants)?;
        if gone.is_empty() {
            continue;
        }
        let successor = if staying.is_empty() { successor.as_ref() } else { None };
        staying.extend(successor.cloned());
        if staying.is_empty() {
            left_alone.push(chain.id().to_owned());
            continue;
        }
        chain.value.participants = staying;
        unit.replace(&chain)?;
        let changes = gone.iter().map(|one| ("blockchain.participant.remove", one));
        for (action, participant) in changes.chain(successor.map(|one| ("blockchain.participant.add", one))) {
            audit(unit, principal, action, format!("blockchain {}: {participant}", chain.id()))?;
        }
    }
    if left_alone.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the member is the last participant of {}: add another participant to each first, or delete it",
        left_alone.join(", ")
    );
    Err(PlatformError::Conflict { message })
}

/// Returns those of a list that go with a user, itself and the keys that it made in whatever workspace, and those that stay.
fn parted(
    unit: &Unit<'_>,
    leaver: &Subject,
    participants: &[Subject],
) -> Result<(Vec<Subject>, Vec<Subject>), RecordError> {
    let (mut gone, mut staying) = (Vec::new(), Vec::new());
    for participant in participants {
        let goes = participant == leaver || is_key_of(unit, leaver, participant)?;
        let list = if goes { &mut gone } else { &mut staying };
        list.push(participant.clone());
    }
    Ok((gone, staying))
}

fn is_key_of(unit: &Unit<'_>, maker: &Subject, participant: &Subject) -> Result<bool, RecordError> {
    let Subject::ApiKey(id) = participant else { return Ok(false) };
    let key = unit.of::<ApiKey>().find(&ApiKey::BY_ID, &Owner::Service, &SortKey::new().text(id))?;
    Ok(key.is_some_and(|key| key.value.created_by == *maker))
}

//! Who is behind the credentials of a caller, and which workspaces these are for.

use super::{Member, Workspace, records::WorkspaceOrigin};
use crate::platform::{
    api_key::ApiKey,
    default_workspace,
    principal::{Principal, Subject},
    records::{Collection, Index, Owner, RecordError, Records, SortKey, Stored, Unit},
};

/// Who is behind the credentials of a caller.
pub(super) struct Behind {
    /// Who answers for them: the user or the service, for an API key its maker.
    pub(super) answering: Subject,
    /// Whom the workspaces that they create are kept as created by: for an API key of the service's own in the default workspace the service, as
    /// such a key is replaced at each start of a process that shows one; for any other the first of the keys that it was rotated from.
    pub(super) creator: Subject,
}

impl Behind {
    /// Returns who is behind a caller; `None` for an API key that is gone.
    pub(super) fn of(keys: &Collection<'_, ApiKey>, caller: &Principal) -> Result<Option<Self>, RecordError> {
        let Subject::ApiKey(id) = caller.subject() else {
            let subject = caller.subject().clone();
            return Ok(Some(Self { answering: subject.clone(), creator: subject }));
        };
        let Some(key) = keys.get(&caller.home(), id)? else { return Ok(None) };
        let creator = match is_services_own(&key) {
            true => Subject::Service,
            false => Subject::ApiKey(key.rotated_from().to_owned()),
        };
        Ok(Some(Self { answering: key.value.created_by, creator }))
    }

    /// Whom what the caller created may be kept as created by, each once: by former versions it is the key itself.
    pub(super) fn creators<'a>(&'a self, caller: &'a Principal) -> impl Iterator<Item = &'a Subject> {
        let own = Some(caller.subject()).filter(|own| **own != self.creator);
        core::iter::once(&self.creator).chain(own)
    }

    /// Returns whom all that the caller created is kept as created by, by how many each has that it may be; `None` where two of them have some.
    pub(super) fn only_creator<'a>(
        &'a self,
        caller: &'a Principal,
        count: impl Fn(&Subject) -> Result<u64, RecordError>,
    ) -> Result<Option<&'a Subject>, RecordError> {
        let mut only = None;
        for creator in self.creators(caller) {
            if count(creator)? > 0 && only.replace(creator).is_some() {
                return Ok(None);
            }
        }
        Ok(Some(only.unwrap_or(&self.creator)))
    }

    /// Returns whether the credentials of the caller are for a workspace: their own, one that was created by them or under their grant, or, for a
    /// user who is present, any. What the caller may do there is its role's matter.
    pub(super) fn reaches(
        &self,
        records: &Records,
        caller: &Principal,
        workspace: &Stored<Workspace>,
    ) -> Result<bool, RecordError> {
        let (created, grant) = (&workspace.value, caller.grant());
        if is_present(caller) || *workspace.owner() == caller.home() {
            return Ok(true);
        }
        if created.created_under.as_deref() != grant {
            return Ok(false);
        }
        let is_created = self.creators(caller).any(|creator| *creator == created.created_by);
        Ok(is_created || (self.creator == Subject::Service && is_by_services_key(records, workspace)?))
    }
}

/// Returns whether a caller is a user who is present: no API key, and no token under a grant.
pub(super) fn is_present(caller: &Principal) -> bool {
    matches!(caller.subject(), Subject::User(_)) && caller.grant().is_none()
}

/// Keeps a workspace as created by the service, also in its members.
pub(super) fn give_to_service(unit: &mut Unit<'_>, mut workspace: Stored<Workspace>) -> Result<(), RecordError> {
    workspace.value.created_by = Subject::Service;
    let workspace = unit.replace(&workspace)?;
    let members = unit.of::<Member>().all(&Index::CREATED, workspace.owner(), &SortKey::new())?;
    for mut member in members {
        member.value.origin = WorkspaceOrigin::of(&workspace);
        unit.replace(&member)?;
    }
    Ok(())
}

/// Keeps as the service's what keys of its own created in stores of former versions, so that each of its present keys has it in its list. The
/// keys may be gone since.
pub(in crate::platform) fn take_over_orphans(records: &Records) -> Result<(), RecordError> {
    let mut orphans = Vec::new();
    records.for_every::<Workspace, RecordError>(|workspace| {
        if is_by_services_key(records, &workspace)? {
            orphans.push(workspace);
        }
        Ok(())
    })?;
    orphans.into_iter().try_for_each(|workspace| records.unit(|unit| give_to_service(unit, workspace)))
}

/// Returns whether an API key is the service's own: one of the operators' workspace for which no user answers. The service answers for keys of
/// other workspaces too, which such a key made there: each of these reaches what it created itself.
fn is_services_own(key: &Stored<ApiKey>) -> bool {
    key.value.created_by == Subject::Service && *key.owner() == Owner::Workspace(default_workspace())
}

/// Returns whether a workspace is kept as created by a key of the service's own, as in stores of former versions. Such a key may be gone; what
/// others created has members, whose workspace it is.
fn is_by_services_key(records: &Records, workspace: &Stored<Workspace>) -> Result<bool, RecordError> {
    let Subject::ApiKey(id) = &workspace.value.created_by else { return Ok(false) };
    match records.of::<ApiKey>().find(&ApiKey::BY_ID, &Owner::Service, &SortKey::new().text(id))? {
        Some(key) => Ok(is_services_own(&key)),
        None => Ok(records.of::<Member>().count(&Index::CREATED, workspace.owner(), &SortKey::new())? == 0),
    }
}

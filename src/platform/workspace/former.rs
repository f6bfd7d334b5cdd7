//! Members as format 1 of the records had them: without the origins of their workspaces, and of a user in the order in which they became members.

use serde::Deserialize;

use super::{Member, Workspace};
use crate::{
    platform::{
        records::{Collection, RecordError, rewritten},
        scope::Role,
    },
    store::{Batch, KeyValue},
};

/// The first version of [`Member`].
#[derive(Deserialize)]
struct MemberV1 {
    role: Role,
}

/// Name of the index by user that format 1 had, in the order in which the user became a member.
const BY_USER_V1: &str = "user";

/// Gives members the origins of their workspaces. A member of a workspace that is gone, which there should be none of, goes with it: it is in no
/// list, and would count as one of the workspaces that its user may have.
pub(in crate::platform) fn members_with_origins(store: &dyn KeyValue) -> Result<Batch, RecordError> {
    let workspaces = Collection::<Workspace>::stored_in(store);
    rewritten::<Member>(store, &[BY_USER_V1], |former| {
        let Some(workspace) = workspaces.get(former.owner, former.owner.as_str())? else { return Ok(None) };
        let MemberV1 { role } = former.read(1)?;
        Ok(Some(Member::of(&workspace, role)))
    })
}

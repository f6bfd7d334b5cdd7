//! How many invitations are sent within an hour.

use super::*;

/// Invites somebody, and withdraws the invitation, so that the plan has its place again.
fn invite_and_withdraw(world: &World, inviter: &Principal) -> Result<(), PlatformError> {
    let members = world.platform.workspaces().members();
    let (stored, _) = world.unit(|unit| members.invite(unit, inviter, "ann@example.org", Role::Viewer))?;
    world.unit(|unit| members.withdraw(unit, inviter, stored.id()))
}

fn too_many(retry_after_secs: u64) -> Result<(), PlatformError> {
    Err(PlatformError::TooManyAttempts { retry_after_secs })
}

#[test]
fn invitations_are_sent_up_to_the_bound_within_any_hour_and_not_once_more() {
    let world = World::inviting(3);
    let owner = world.workspace();
    let kept = || {
        let records = world.platform.records();
        [records.verify::<OutboxEntry>(), records.verify::<Invitation>(), records.verify::<AuditLine>()]
            .map(Result::unwrap)
    };
    for _ in 0..3 {
        invite_and_withdraw(&world, &owner).unwrap();
        world.clock.advance(Duration::from_secs(600));
    }
    let before = kept();
    assert_eq!((before[0], invite_and_withdraw(&world, &owner)), (3, too_many(1_800)));
    assert_eq!(kept(), before, "no mail, no record");
    world.clock.advance(Duration::from_millis(1_799_999));
    assert_eq!(invite_and_withdraw(&world, &owner), too_many(1));
    world.clock.advance(Duration::from_millis(1));
    invite_and_withdraw(&world, &owner).unwrap();
    assert_eq!(invite_and_withdraw(&world, &owner), too_many(600), "the hour of the first alone has passed");
    world.clock.advance(Duration::from_secs(3_600));
    for _ in 0..3 {
        invite_and_withdraw(&world, &owner).unwrap();
    }
    assert_eq!(invite_and_withdraw(&world, &owner), too_many(3_600));
    let counts = || world.platform.records().verify::<SentInvitations>().unwrap();
    world.clock.advance(Duration::from_millis(3_599_999));
    world.platform.forget_expired().unwrap();
    assert_eq!(counts(), 2, "the user's and the workspace's");
    world.clock.advance(Duration::from_millis(1));
    world.platform.forget_expired().unwrap();
    assert_eq!(counts(), 0);
}

#[test]
fn neither_another_workspace_nor_a_key_nor_another_member_sends_more_invitations() {
    let world = World::inviting(3);
    let (owner, workspaces) = (world.workspace(), world.platform.workspaces());
    let (_, admin) = world.member(&owner, "admin", Role::Admin);
    let (value, _) = world.key(&owner, &[Scope::Admin]);
    let key = world.authenticated(&value).unwrap();
    // Two of the user, and three of its workspace.
    invite_and_withdraw(&world, &owner).unwrap();
    invite_and_withdraw(&world, &admin).unwrap();
    for inviter in [&owner, &admin, &key] {
        assert_eq!(invite_and_withdraw(&world, inviter), too_many(3_600));
    }
    let (_, made) = world.unit(|unit| workspaces.create_by(unit, &key, Workspace::named("made"))).unwrap();
    invite_and_withdraw(&world, &made).unwrap();
    assert_eq!(invite_and_withdraw(&world, &made), too_many(3_600), "a key counts as its maker");
    world.unit(|unit| workspaces.delete(unit, &made)).unwrap();
    let (_, other) = world.unit(|unit| workspaces.create_by(unit, &owner, Workspace::named("other"))).unwrap();
    assert_eq!(invite_and_withdraw(&world, &other), too_many(3_600), "also when it deletes the workspace");
    let (_, others) = world.unit(|unit| workspaces.create_by(unit, &admin, Workspace::named("another's"))).unwrap();
    invite_and_withdraw(&world, &others).unwrap();
    let own = world.platform.create_api_key("own", &[Scope::Admin]).unwrap();
    let own = world.authenticated(own.text()).unwrap();
    for _ in 0..4 {
        invite_and_withdraw(&world, &own).unwrap();
    }
}

//! Invitations: who comes by them, the places that they take, when they end.

use super::*;

#[test]
fn members_and_invitations_share_the_plans_places() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let invite = |name: &str| {
        world.unit(|unit| members.invite(unit, &owner, &format!("{name}@example.org"), Role::Viewer)).map(drop)
    };
    let places = Plans::default().named(Plans::DEFAULT).unwrap().members_max;
    // The owner has one, and an accepted invitation keeps its own.
    let (first, _) = world.member(&owner, "first", Role::Viewer);
    for number in 2..places {
        invite(&format!("guest{number}")).unwrap();
    }
    let Err(PlatformError::Conflict { message }) = invite("one-more") else { panic!("must be refused") };
    assert!(message.contains(&format!("allows {places} members")), "{message}");
    world.unit(|unit| members.remove(unit, &owner, &first)).unwrap();
    invite("one-more").unwrap();
    assert!(invite("another").is_err());
}

#[test]
fn members_come_by_invitation_once() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let (invitation, token) =
        world.unit(|unit| members.invite(unit, &owner, "New.Member@Example.org", Role::Developer)).unwrap();
    assert_eq!(invitation.value.email, "new.member@example.org");
    assert_eq!(
        refused(world.unit(|unit| members.invite(unit, &owner, "new.member@example.org", Role::Viewer))),
        "conflict"
    );
    for email in ["", "no at", "a@b@c", "a @b", &format!("{}@b", "a".repeat(260))] {
        assert_eq!(refused(world.unit(|unit| members.invite(unit, &owner, email, Role::Viewer))), "invalid", "{email}");
    }
    // The mail waits in the outbox; its token is nowhere in the store in clear.
    let mail =
        world.platform.records().due_messages(&PageRequest::first(9_usize.try_into().unwrap())).unwrap().remove(0);
    assert_eq!((mail.value.topic.as_str(), &mail.value.payload[..]), ("mail.invitation", invitation.id().as_bytes()));
    let bytes: Vec<u8> =
        suite::dump(&*world.store).into_iter().flat_map(|(_, key, value)| [key, value].concat()).collect();
    assert!(!bytes.windows(16).any(|window| window == &token.text().as_bytes()[..16]));

    let user = world.user("new.member");
    assert_eq!(refused(world.unit(|unit| members.accept(unit, &user, "guessed"))), "not found");
    assert_eq!(refused(world.unit(|unit| members.accept(unit, "usr_none", token.text()))), "not found");
    world.unit(|unit| members.accept(unit, &user, token.text())).unwrap();
    assert_eq!(refused(world.unit(|unit| members.accept(unit, &user, token.text()))), "not found", "it is used up");
    assert_eq!(
        refused(world.unit(|unit| members.invite(unit, &owner, "new.member@example.org", Role::Viewer))),
        "conflict"
    );
    assert_eq!(
        world.platform.records().verify::<SealedSecret>().unwrap(),
        3,
        "the token is gone, the service's own and two wallets' stay"
    );

    let (_, late) = world.unit(|unit| members.invite(unit, &owner, "late@example.org", Role::Viewer)).unwrap();
    let (withdrawn, gone) = world.unit(|unit| members.invite(unit, &owner, "gone@example.org", Role::Viewer)).unwrap();
    world.unit(|unit| members.withdraw(unit, &owner, withdrawn.id())).unwrap();
    let (left_out, too_late) = (world.user("gone"), world.user("late"));
    assert_eq!(refused(world.unit(|unit| members.accept(unit, &left_out, gone.text()))), "not found");
    world.clock.advance(7 * DAY);
    assert_eq!(refused(world.unit(|unit| members.accept(unit, &too_late, late.text()))), "not found");
}

#[test]
fn expired_invitations_make_room_and_are_forgotten() {
    let world = World::new();
    let (owner, members) = (world.workspace(), world.platform.workspaces().members());
    let invite = |number: u8| {
        let email = format!("m{number}@example.org");
        world.unit(|unit| members.invite(unit, &owner, &email, Role::Viewer)).map(|(stored, _)| stored.id().to_owned())
    };
    let kept = || world.platform.records().verify::<Invitation>().unwrap();
    let first = invite(1).unwrap();
    for number in 2..5 {
        invite(number).unwrap();
    }
    world.clock.advance(7 * DAY - Duration::from_millis(1));
    assert_eq!((refused(invite(5)), refused(invite(1))), ("conflict", "conflict"));
    world.clock.advance(Duration::from_millis(1));
    assert_ne!(invite(1).unwrap(), first, "it is repeated");
    assert_eq!(kept(), 4, "in place of the expired one");
    for number in 5..8 {
        invite(number).unwrap();
    }
    assert_eq!(refused(invite(8)), "conflict");
    assert_eq!(kept(), 7);

    let secrets = || world.platform.records().verify::<SealedSecret>().unwrap();
    let before = secrets();
    world.clock.advance(30 * DAY - Duration::from_millis(1));
    world.platform.forget_expired().unwrap();
    assert_eq!((kept(), secrets()), (7, before), "expired ones are listed for 30 days");
    world.clock.advance(Duration::from_millis(1));
    world.platform.forget_expired().unwrap();
    assert_eq!((kept(), secrets()), (4, before - 3), "each with its token");
}

#[test]
fn a_member_of_as_many_workspaces_as_the_service_allows_accepts_no_invitation_to_another() {
    let world = World::new();
    let (owner, workspaces) = (world.workspace(), world.platform.workspaces());
    let members = workspaces.members();
    let guest = world.user("guest");
    for _ in 0..10 {
        world.unit(|unit| workspaces.create(unit, &guest, Workspace::named("own"))).unwrap();
    }
    let (_, token) = world.unit(|unit| members.invite(unit, &owner, "guest@example.org", Role::Viewer)).unwrap();
    let accept = || world.unit(|unit| members.accept(unit, &guest, token.text()));
    let Err(PlatformError::Conflict { message }) = accept() else { panic!("must be refused") };
    assert!(message.contains("a member of 10 workspaces, and the service allows 10"), "{message}");
    let group = SortKey::new().text(&guest);
    let own =
        members.all().page(&Member::BY_USER, &Owner::Service, &group, &PageRequest::first(NonZeroUsize::MIN)).unwrap();
    let left = workspaces.principal(&guest, own.items[0].owner().workspace().unwrap()).unwrap().unwrap();
    world.unit(|unit| workspaces.delete(unit, &left)).unwrap();
    assert_eq!(accept().unwrap(), *owner.workspace(), "the invitation is still there");
}

//! The lists of the workspaces that callers reach: each page is a part of the naive list, and costs what is on it.

use core::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};

use proptest::prelude::*;

use super::*;
use crate::{
    platform::{records::Stored, vault::MasterKey},
    primitives::Bytes,
    store::{Batch, StoreError, Table},
};

/// A store that counts what is read of it: look-ups, and the pairs that scans pass.
#[derive(Debug, Default)]
struct Counted {
    inner: MemoryStore,
    reads: AtomicU64,
}

impl KeyValue for Counted {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.get(table, key)
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.inner.scan_from(table, prefix, from, order, &mut |key, value| {
            self.reads.fetch_add(1, Ordering::Relaxed);
            visit(key, value)
        })
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        self.inner.write(batch)
    }

    fn is_durable(&self) -> bool {
        false
    }
}

fn open(store: &Arc<Counted>, clock: &Arc<ManualClock>) -> Platform {
    let store: Arc<dyn KeyValue> = store.clone();
    let builder = Platform::builder(clock.clone()).with_store(store);
    builder.open_with(None, MasterKey::new([7; 32].into()), Vec::new()).unwrap()
}

/// Creates a workspace for a user, and returns the user as a principal of it.
fn at_home(platform: &Platform, email: &str) -> Principal {
    let workspaces = platform.workspaces();
    let user = platform.unit(|unit| workspaces.add_user(unit, email)).unwrap();
    let home = platform.unit(|unit| workspaces.create(unit, user.id(), Workspace::named("home"))).unwrap();
    workspaces.principal(user.id(), home.owner().workspace().unwrap()).unwrap().unwrap()
}

/// Creates an API key; `None` where there may be no more of them, and for one whose maker has left.
fn key_of(platform: &Platform, maker: &Principal) -> Option<Principal> {
    let scopes = [Scope::Admin].into_iter().collect();
    let spec = ApiKeySpec { name: "ci".to_owned(), scopes, lifetime_ms: None };
    let (value, _) = platform.unit(|unit| platform.api_keys().create(unit, maker, spec)).ok()?;
    platform.api_keys().authenticate(value.text()).unwrap()
}

/// Callers of every kind, each of whom has created as many workspaces beside its own.
fn filled(each: usize) -> (Arc<Counted>, Arc<ManualClock>, [Principal; 4]) {
    let store = Arc::new(Counted::default());
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
    let platform = open(&store, &clock);
    let user = at_home(&platform, "ann@example.org");
    let key = key_of(&platform, &user).unwrap();
    let under_grant = user.clone().under_grant("grant_1".to_owned());
    let own = platform.create_api_key("own", &[Scope::Admin]).unwrap();
    let own = platform.api_keys().authenticate(own.text()).unwrap().unwrap();
    clock.advance(Duration::from_secs(1));
    let create = |unit: &mut Unit<'_>, number: usize, created_by: &Subject, grant: Option<&str>| {
        let creator = created_by.to_string().replace(':', "_");
        let id = format!("ws_{creator}_{}_{number}", grant.unwrap_or("present"));
        let owner = Owner::from(&WorkspaceId::new(id).unwrap());
        let created_under = grant.map(str::to_owned);
        let workspace = Workspace { created_by: created_by.clone(), created_under, ..Workspace::named("made") };
        let made = unit.insert(&owner, owner.as_str(), workspace)?;
        if *created_by != Subject::Service {
            unit.insert(&owner, owner_id(&user), Member::of(&made, Role::Owner))?;
        }
        Ok::<_, PlatformError>(())
    };
    platform
        .unit(|unit| {
            (0..each).try_for_each(|number| {
                create(unit, number, user.subject(), None)?;
                create(unit, number, user.subject(), under_grant.grant())?;
                create(unit, number, key.subject(), None)?;
                create(unit, number, &Subject::Service, None)
            })
        })
        .unwrap();
    (store, clock, [user, under_grant, key, own])
}

#[test]
fn a_page_of_workspaces_costs_what_is_on_it_however_many_there_are() {
    let costs = |each: usize| -> Vec<u64> {
        let (store, clock, callers) = filled(each);
        let mut costs = Vec::new();
        for (caller, created) in callers.iter().zip([3 * each, each, each, each]) {
            for order in [Order::Ascending, Order::Descending] {
                // Opened anew: nothing of the store is in memory.
                let platform = open(&store, &clock);
                let request = PageRequest::first(NonZeroUsize::new(5).unwrap()).in_order(order);
                let before = store.reads.load(Ordering::Relaxed);
                let (page, total) = platform.workspaces().page_of_caller(caller, &request).unwrap();
                costs.push(store.reads.load(Ordering::Relaxed) - before);
                assert_eq!((page.len(), total), (5, created as u64 + 1), "{caller:?} {order:?}");
            }
        }
        costs
    };
    let few = costs(10);
    assert_eq!(few, costs(1_000));
    assert!(few.iter().all(|cost| (5..30).contains(cost)), "{few:?}");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A caller makes a workspace. A former version kept it as made by a key itself, not by the first that it follows.
    Make {
        caller: usize,
        is_former: bool,
    },
    Wait,
    Key {
        user: usize,
    },
    Grant {
        user: usize,
    },
    Rotate {
        caller: usize,
    },
    Join {
        workspace: usize,
        user: usize,
    },
    Leave {
        workspace: usize,
        user: usize,
    },
    Delete {
        workspace: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let number = || 0..64_usize;
    prop_oneof![
        8 => (number(), proptest::bool::weighted(0.2)).prop_map(|(caller, is_former)| Step::Make { caller, is_former }),
        3 => Just(Step::Wait),
        2 => number().prop_map(|user| Step::Key { user }),
        1 => number().prop_map(|user| Step::Grant { user }),
        3 => number().prop_map(|caller| Step::Rotate { caller }),
        2 => (number(), number()).prop_map(|(workspace, user)| Step::Join { workspace, user }),
        1 => (number(), number()).prop_map(|(workspace, user)| Step::Leave { workspace, user }),
        1 => number().prop_map(|workspace| Step::Delete { workspace }),
    ]
}

/// Who asks, and the user who answers for it, if one does.
#[derive(Clone, Debug)]
struct Caller {
    principal: Principal,
    user: Option<String>,
}

struct Scene {
    world: World,
    users: Vec<Principal>,
    callers: Vec<Caller>,
}

impl Scene {
    /// Two users who are present, a key of the service's own, and one that it made in another workspace.
    fn new() -> Self {
        let world = World::new();
        let users: Vec<Principal> =
            ["ann", "bob"].iter().map(|name| at_home(&world.platform, &format!("{name}@example.org"))).collect();
        let mut scene = Self { world, users: users.clone(), callers: Vec::new() };
        users.iter().for_each(|user| scene.add(user.clone(), Some(user)));
        let own = scene.world.platform.create_api_key("own", &[Scope::Admin]).unwrap();
        let own = scene.world.authenticated(own.text()).unwrap();
        let make = |unit: &mut Unit<'_>| scene.world.platform.workspaces().create_by(unit, &own, Workspace::named("x"));
        let (_, there) = scene.world.unit(make).unwrap();
        let inner = key_of(&scene.world.platform, &there).unwrap();
        scene.add(own, None);
        scene.add(inner, None);
        scene
    }

    fn add(&mut self, principal: Principal, user: Option<&Principal>) {
        self.callers.push(Caller { principal, user: user.map(|user| owner_id(user).to_owned()) });
    }

    /// All workspaces, by the order of their ids.
    fn workspaces(&self) -> Vec<Stored<Workspace>> {
        let mut all = Vec::new();
        let visit = |workspace| {
            all.push(workspace);
            Ok::<_, PlatformError>(())
        };
        self.world.platform.records().for_every::<Workspace, _>(visit).unwrap();
        all
    }

    /// Does a step; what is refused changes nothing.
    fn run(&mut self, step: Step) {
        match step {
            Step::Make { caller, is_former } => {
                let caller = self.callers[caller % self.callers.len()].clone();
                self.make(&caller, is_former);
            }
            Step::Wait => self.world.clock.advance(Duration::from_millis(1)),
            Step::Key { user } => {
                let user = self.users[user % self.users.len()].clone();
                if let Some(key) = key_of(&self.world.platform, &user) {
                    self.add(key, Some(&user));
                }
            }
            Step::Grant { user } => {
                let user = self.users[user % self.users.len()].clone();
                let grant = format!("grant_{}", self.callers.len());
                self.add(user.clone().under_grant(grant), Some(&user));
            }
            Step::Rotate { caller } => {
                let caller = self.callers[caller % self.callers.len()].clone();
                if let Some(principal) = self.rotated(&caller.principal) {
                    self.callers.push(Caller { principal, ..caller });
                }
            }
            Step::Join { workspace, user } => self.change_members(workspace, user, true),
            Step::Leave { workspace, user } => self.change_members(workspace, user, false),
            Step::Delete { workspace } => {
                let all = self.workspaces();
                let id = all[workspace % all.len()].owner().workspace().unwrap().clone();
                let service = Principal::new(Subject::Service, id, Role::Owner.cap());
                let _ = self.world.unit(|unit| self.world.platform.workspaces().delete(unit, &service));
            }
        }
    }

    fn make(&self, caller: &Caller, is_former: bool) {
        let _ = self.world.unit(|unit| {
            let named = Workspace::named("made");
            let (mut made, _) = self.world.platform.workspaces().create_by(unit, &caller.principal, named)?;
            let Some(user) = caller.user.as_ref().filter(|_| is_former) else { return Ok(()) };
            made.value.created_by = caller.principal.subject().clone();
            let made = unit.replace(&made)?;
            let mut member = unit.of::<Member>().require(made.owner(), user)?;
            member.value = Member::of(&made, member.value.role);
            unit.replace(&member)?;
            Ok(())
        });
    }

    /// Rotates a key by itself; `None` for a caller that is none, and for a key that may not be.
    fn rotated(&self, key: &Principal) -> Option<Principal> {
        let Subject::ApiKey(id) = key.subject() else { return None };
        let rotate = |unit: &mut Unit<'_>| self.world.platform.api_keys().rotate(unit, key, id, 3_600_000);
        let (value, _) = self.world.unit(rotate).ok()?;
        self.world.authenticated(value.text())
    }

    fn change_members(&self, workspace: usize, user: usize, is_to_join: bool) {
        let (all, user) = (self.workspaces(), owner_id(&self.users[user % self.users.len()]));
        let workspace = &all[workspace % all.len()];
        let change = |unit: &mut Unit<'_>| {
            match unit.of::<Member>().get(workspace.owner(), user)? {
                None if is_to_join => {
                    unit.insert(workspace.owner(), user, Member::of(workspace, Role::Developer))?;
                }
                Some(member) if !is_to_join => unit.delete(&member)?,
                _ => {}
            }
            Ok(())
        };
        self.world.unit(change).unwrap();
    }

    /// The naive list: of all workspaces those in which a caller may act, and the user who answers for it is a member.
    fn reached(&self, caller: &Caller) -> Vec<String> {
        let (platform, mut found) = (&self.world.platform, self.workspaces());
        found.retain(|workspace| {
            let members = platform.records().of::<Member>();
            let is_member = |user: &String| members.get(workspace.owner(), user).unwrap().is_some();
            let may_act = platform.workspaces().acting_in(&caller.principal, workspace.id()).is_ok();
            may_act && caller.user.as_ref().is_none_or(is_member)
        });
        found.sort_by_key(|workspace| (workspace.created_at_ms(), workspace.id().to_owned()));
        found.iter().map(|workspace| workspace.id().to_owned()).collect()
    }

    /// Every page of every size, in both directions, is the part of the naive list.
    fn check(&self, caller: &Caller) {
        let (workspaces, mut wanted) = (self.world.platform.workspaces(), self.reached(caller));
        let ids = |found: &[Stored<Workspace>]| found.iter().map(|one| one.id().to_owned()).collect::<Vec<_>>();
        assert_eq!(ids(&workspaces.of_caller(&caller.principal).unwrap()), wanted, "{caller:?}");
        for order in [Order::Ascending, Order::Descending] {
            for limit in 1..=wanted.len() + 1 {
                for number in 1..=wanted.len().div_ceil(limit) + 1 {
                    let place = |number: usize| NonZeroUsize::new(number).unwrap();
                    let request = PageRequest::first(place(limit)).with_number(place(number)).in_order(order);
                    let (page, total) = workspaces.page_of_caller(&caller.principal, &request).unwrap();
                    let part: Vec<String> = wanted.iter().skip((number - 1) * limit).take(limit).cloned().collect();
                    let found = (ids(&page), total);
                    assert_eq!(found, (part, wanted.len() as u64), "{caller:?} {order:?} {limit} {number}");
                }
            }
            wanted.reverse();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn pages_of_every_caller_are_parts_of_what_it_reaches(steps in proptest::collection::vec(step(), 1..40)) {
        let mut scene = Scene::new();
        for step in steps {
            scene.run(step);
        }
        for caller in &scene.callers {
            scene.check(caller);
        }
        let records = scene.world.platform.records();
        records.verify::<Member>().unwrap();
        records.verify::<Workspace>().unwrap();
    }
}

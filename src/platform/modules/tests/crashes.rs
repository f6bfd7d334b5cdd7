//! Crashes while a module is enabled.

use super::*;

#[test]
fn every_crash_of_an_enabling_leaves_a_module_that_comes_or_nothing() {
    for body in [json!({ "name": "x" }), json!({ "name": "x", "config": { "blockTime": "1s" } })] {
        let is_paced = body["config"].is_object();
        let world = World::new();
        let id = world.make(body);
        let before = world.disk.writes();
        let modules = world.platform.modules();
        let made = modules.enable(&world.me(), ID, &spec(&id, "defi", json!({}))).unwrap();
        assert_eq!(made.state, if is_paced { ModuleState::Pending } else { ModuleState::Enabled });
        let (crashes, mut kept) = (world.disk.crashes(), 0);
        assert!(crashes.len() > before);
        for crashed in crashes.into_iter().skip(before.saturating_sub(1)) {
            let world = World::on(crashed, world.clock.clone());
            let chain = world.chain(&id);
            if is_paced {
                world.run(&chain, 8);
            }
            let modules = world.platform.modules();
            let found = modules.list(&world.me(), &id).unwrap();
            let on_chain = chain.node().view().chain().modules(chain.node().view().head()).unwrap();
            assert_eq!((found.len(), on_chain.len()), if found.is_empty() { (0, 0) } else { (1, 1) });
            if let Some(module) = found.first() {
                kept += 1;
                assert_eq!((module.state, &module.contracts), (ModuleState::Enabled, &made.contracts));
            }
            // Run again under its id, it is done once.
            let again = modules.enable(&world.me(), ID, &spec(&id, "defi", json!({}))).unwrap();
            if is_paced {
                world.run(&chain, 8);
            }
            assert_eq!(again.transactions.len(), 1);
            let found = modules.list(&world.me(), &id).unwrap();
            assert_eq!((found.len(), found[0].state), (1, ModuleState::Enabled));
        }
        assert!(kept > 0);
    }
}

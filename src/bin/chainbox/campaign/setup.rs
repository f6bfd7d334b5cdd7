//! The setup of a campaign, from a file and flags.

use std::{error::Error, path::Path};

use chainbox::{
    consensus::ConsensusKind,
    sim::{Budget, CampaignSetup, FaultPlan, RunReport, default_sim_config},
};

use crate::{
    files,
    refused::Refused,
    sim_args::{RunKind, SetupFlags},
};

type Failure = Box<dyn Error>;

/// Returns the setup of `--setup` or the default one of `--protocol`, as the other flags change it.
pub(super) fn setup_of(protocol: Option<ConsensusKind>, flags: &SetupFlags) -> Result<CampaignSetup, Failure> {
    let mut setup = match (&flags.file, protocol) {
        (Some(path), protocol) => {
            let setup = read(path)?;
            let name = setup.consensus.short_name();
            if let Some(protocol) = protocol.filter(|protocol| protocol.short_name() != name) {
                let asked = protocol.short_name();
                return Err(
                    format!("{} is a setup of {name}, --protocol is {asked}: leave it out", path.display()).into()
                );
            }
            setup
        }
        (None, Some(protocol)) => match flags.profile {
            Some(RunKind::Long) => CampaignSetup::long(default_sim_config(protocol)),
            Some(RunKind::Turnover) => CampaignSetup::turnover(default_sim_config(protocol)),
            Some(RunKind::Registry) => CampaignSetup::registry(default_sim_config(protocol)),
            Some(RunKind::Rotation) => CampaignSetup::rotation(default_sim_config(protocol)),
            Some(RunKind::Parameters) => CampaignSetup::parameters(default_sim_config(protocol)),
            Some(RunKind::Short) | None => CampaignSetup::of(default_sim_config(protocol)),
        },
        (None, None) => return Err("give --protocol, or --setup with a file".into()),
    };
    change(&mut setup, flags);
    check(&setup)?;
    Ok(setup)
}

/// Reads TOML, or JSON.
fn read(path: &Path) -> Result<CampaignSetup, Failure> {
    let text = files::read_text(path)?;
    let in_file = |error: &dyn Error| format!("{}: {error}", path.display());
    match text.trim_start().starts_with('{') {
        true => Ok(serde_json::from_str(&text).map_err(|error| in_file(&error))?),
        false => Ok(toml::from_str(&text).map_err(|error| in_file(&error))?),
    }
}

fn change(setup: &mut CampaignSetup, flags: &SetupFlags) {
    let SetupFlags {
        file: _,
        profile: _,
        validators,
        liars,
        faults_max,
        transactions,
        blocks_after,
        observers,
        candidates,
        fault_time,
        recovery_time,
        history,
    } = flags;
    setup.checks_history |= *history;
    if let Some(validators) = validators {
        setup.validators.clone_from(&validators.0);
    }
    if let Some(liars) = liars {
        setup.profile.byzantine = if *liars == 0 { Budget::None } else { Budget::Exactly(*liars) };
    }
    if let Some(span) = fault_time {
        (setup.fault_phase, setup.profile.span) = (*span, *span);
    }
    let set = |field: &mut u32, flag: &Option<u32>| *field = flag.unwrap_or(*field);
    set(&mut setup.profile.faults_max, faults_max);
    set(&mut setup.transactions, transactions);
    set(&mut setup.observers, observers);
    set(&mut setup.candidates, candidates);
    setup.blocks_after = blocks_after.unwrap_or(setup.blocks_after);
    setup.recovery_max = recovery_time.unwrap_or(setup.recovery_max);
}

/// Refuses numbers of validators that the protocol can't have, before any seed runs.
fn check(setup: &CampaignSetup) -> Result<(), Failure> {
    if setup.validators.is_empty() {
        return Err("the setup has no number of validators: give --validators, such as 4..7".into());
    }
    for (name, time) in [("fault_ms", setup.fault_phase), ("heal_ms", setup.recovery_max)] {
        if time.is_zero() {
            return Err(format!("the setup has {name} = 0: a run needs time for its faults, and to recover").into());
        }
    }
    for count in &setup.validators {
        let one = CampaignSetup { validators: vec![*count], ..setup.clone() };
        let built = one.network(0, &FaultPlan::default());
        built.map_err(|error| Refused(format!("{count} validators: {}", files::with_causes(&error))))?;
    }
    Ok(())
}

/// Returns a note where more replicas lie than the protocol tolerates: then findings are no bugs.
pub(super) fn note_of(setup: &CampaignSetup) -> Option<String> {
    let too_many = setup.validators.iter().find_map(|count| {
        let (liars, tolerated) = (setup.profile.byzantine.of(*count), setup.consensus.liars_max(*count));
        (liars > tolerated).then_some((liars, *count, tolerated))
    });
    too_many.map(|(liars, count, tolerated)| {
        let name = setup.consensus.short_name();
        format!("up to {liars} of {count} replicas lie, and {name} tolerates {tolerated}: a finding is no bug of the protocol")
    })
}

/// Returns why a finding is no bug of the protocol: its plan lets more replicas lie than are tolerated. An observer may lose its disk: it
/// has no say.
pub(super) fn control_of(setup: &CampaignSetup, report: &RunReport) -> Option<String> {
    let observers = report.validators.saturating_add(setup.candidates);
    let liars = report.plan.byzantine().into_iter().filter(|replica| replica.get() < observers).count();
    let tolerated = setup.consensus.liars_max(report.validators);
    let (count, name) = (report.validators, setup.consensus.short_name());
    (liars > tolerated as usize)
        .then(|| format!("{liars} of {count} replicas misbehave or lose their disk, and {name} tolerates {tolerated}"))
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use chainbox::{
        consensus::ReplicaId,
        primitives::B256,
        sim::{FaultKind, RunCounters, RunOutcome},
    };

    use super::*;

    #[test]
    fn an_observer_without_its_disk_is_no_liar() {
        let setup = CampaignSetup::long(default_sim_config(ConsensusKind::Dpos));
        let control_of_wiped = |wiped: &[u32]| {
            let wipe = |plan: FaultPlan, replica: &u32| {
                plan.with_lasting(Duration::ZERO, FaultKind::Wipe { replica: ReplicaId::new(*replica) })
            };
            let report = RunReport {
                seed: 1,
                outcome: RunOutcome::Passed,
                validators: 5,
                digest: B256::ZERO,
                counters: RunCounters::default(),
                marks: Default::default(),
                plan: wiped.iter().fold(FaultPlan::default(), wipe),
            };
            control_of(&setup, &report)
        };
        assert_eq!(control_of_wiped(&[3, 7]), None, "5 and 6 are candidates, 7 observes");
        assert!(control_of_wiped(&[3, 6]).is_some_and(|why| why.contains("2 of 5 replicas")));
    }
}

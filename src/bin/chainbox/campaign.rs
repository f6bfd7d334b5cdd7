//! `chainbox campaign`: runs many seeds and sums their results.

pub(crate) mod demo;
mod report;
mod setup;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    error::Error,
    fs::{File, OpenOptions},
    io::{self, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use chainbox::sim::{
    Campaign, CampaignSetup, Expected, Regression, RunOutcome, RunReport, Shard, Summary,
    campaign::{Origin, ReadResults, read_results, run_parallel},
    shrink,
};
use serde::Serialize;
use serde_json::json;

use crate::{
    files, interrupt, progress,
    refused::Refused,
    sim_args::{CampaignCommand, CampaignOptions, CampaignRun, MergeOptions, SetupFlags},
    styles::{ERROR, FAINT, GOOD, HEADING},
    wrap::{columns, wrapped},
};

type Failure = Box<dyn Error>;

/// Most runs for shrinking one failure.
const SHRINK_RUNS_MAX: u32 = 300;
/// Failures that are shrunk and written; further ones are only in the results.
const FINDINGS_MAX: usize = 20;
/// Seeds of a planted bug, which the first finding ends.
const DEMO_SEEDS: (u64, u64) = (0, 1_000);

/// The end of a campaign before its last seed.
enum Stopped {
    /// By Ctrl-C.
    Interrupted,
    /// By `--time-limit`.
    TimeIsUp,
    /// A planted bug was found.
    Found,
    Failed(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Runs the command; returns `false` when a seed failed.
pub(crate) fn run(options: &CampaignOptions) -> Result<bool, Failure> {
    match (&options.command, &options.run) {
        (Some(CampaignCommand::Merge(merge_options)), _) => merge(merge_options),
        (None, Some(run_options)) => start(run_options, &options.setup),
        (None, None) => Err("give --protocol and --seeds, or `merge` and files".into()),
    }
}

fn start(options: &CampaignRun, flags: &SetupFlags) -> Result<bool, Failure> {
    let Some(name) = &options.demo_bug else {
        let setup = setup::setup_of(options.protocol, flags)?;
        if options.print_setup {
            let text = match options.json {
                true => serde_json::to_string_pretty(&setup)? + "\n",
                false => toml::to_string(&setup)?,
            };
            files::report(false, &text);
            return Ok(true);
        }
        if let Some(note) = setup::note_of(&setup).filter(|_| !options.quiet) {
            anstream::eprintln!("{HEADING}note:{HEADING:#} {note}");
        }
        let seeds = options.seeds.ok_or("give --seeds, such as 0..10000")?;
        return run_shard(options, setup, seeds, false);
    };
    if name.is_empty() {
        if options.json {
            let listed = |bug: &demo::DemoBug| json!({ "name": bug.name, "about": bug.about, "protocol": bug.protocol.short_name() });
            println!("{}", serde_json::to_string_pretty(&demo::ALL.iter().map(listed).collect::<Vec<_>>())?);
            return Ok(true);
        }
        for bug in demo::ALL {
            anstream::println!("{HEADING}{}{HEADING:#}: {} ({})", bug.name, bug.about, bug.protocol.name());
        }
        return Ok(true);
    }
    let bug = demo::find(name).ok_or_else(|| {
        let names: Vec<_> = demo::ALL.iter().map(|bug| bug.name).collect();
        Refused(format!("no planted bug is called {name:?}; choose one of {}", names.join(", ")))
    })?;
    anstream::eprintln!("{HEADING}{}{HEADING:#}: {}", bug.name, bug.about);
    run_shard(options, bug.setup(), options.seeds.unwrap_or(DEMO_SEEDS), true)
}

fn run_shard(options: &CampaignRun, setup: CampaignSetup, seeds: (u64, u64), is_demo: bool) -> Result<bool, Failure> {
    let shard = match options.shard {
        Some(shard) => shard,
        None => shard_of(|name| env::var(name).ok())?.unwrap_or(Shard::WHOLE),
    };
    let campaign = Campaign::new(setup.clone(), seeds.0..seeds.1).with_shard(shard);
    let origin = Origin::of(&setup);
    let (mut summary, mut done, mut is_begun) = (Summary::default(), BTreeSet::new(), false);
    if let Some(path) = options.out.as_deref().filter(|path| path.exists()) {
        if !options.resume {
            let hint = "give --resume to go on with it, or another name";
            return Err(format!("{} is there already: {hint}", path.display()).into());
        }
        let read = read_into(path, |report| {
            if done.insert(report.seed) {
                summary.add(&report);
            }
        })?;
        check_resumed(path, &campaign, &read, &done)?;
        is_begun = read.origin.is_some();
        mend_end(path, read.whole_bytes)?;
    }
    let count = campaign.remaining(&done).count() as u64;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.jobs.map_or(cores, |jobs| jobs as usize);
    let mut out = options.out.as_deref().map(append).transpose()?;
    if let Some(out) = out.as_mut().filter(|_| !is_begun) {
        write_line(out, &origin)?;
    }
    let mut shown = progress::Seeds::new(count, options.quiet || options.json);
    let interrupted = interrupt::watch();
    let begun = progress::wall_clock();
    let is_time_up = || options.time_limit.is_some_and(|limit| begun.elapsed() >= limit);
    let mut findings = Vec::new();
    let stopped = run_parallel(&campaign, &done, threads, |report| {
        if let Some(out) = &mut out {
            write_line(out, &report)?;
        }
        summary.add(&report);
        let is_finding = !report.is_passed();
        shown.advance(is_finding);
        if is_finding {
            findings.push(report);
        }
        match interrupted.is_set() {
            true => Err(Stopped::Interrupted),
            false if is_demo && is_finding => Err(Stopped::Found),
            false if is_time_up() => Err(Stopped::TimeIsUp),
            false => Ok(()),
        }
    });
    let speed = shown.finish();
    let is_interrupted = match stopped {
        Err(Stopped::Failed(error)) => return Err(error.into()),
        Err(Stopped::Interrupted) => true,
        Err(Stopped::Found | Stopped::TimeIsUp) | Ok(()) => false,
    };
    findings.sort_by_key(|report| report.seed);
    let mut files_written = Vec::new();
    // After Ctrl-C nobody waits for shrinking; the results have what was found.
    for report in findings.iter().take(if is_interrupted { 0 } else { FINDINGS_MAX }) {
        files_written.push(keep(options, &setup, report)?);
    }
    // A planted bug is one, whoever lies beside it.
    let note = setup::note_of(&setup).filter(|_| !is_demo);
    if options.json {
        let mut result = serde_json::to_value(&summary)?;
        if let (Some(note), Some(result)) = (&note, result.as_object_mut()) {
            result.insert("note".to_owned(), note.as_str().into());
        }
        println!("{result:#}");
    } else {
        let what = format!("{}, seeds {}..{}, shard {shard}", setup.consensus.name(), seeds.0, seeds.1);
        anstream::print!("{}", wrapped(&report::report(&what, &summary, Some(&origin)), columns()));
        if let Some(note) = &note {
            anstream::println!("{HEADING}note:{HEADING:#} {note}");
        }
        anstream::println!("{FAINT}{speed} on {threads} threads{FAINT:#}");
        for path in &files_written {
            anstream::println!("shows it again: chainbox replay {}", path.display());
        }
    }
    let left = campaign.seeds().count() as u64 - summary.seeds;
    if left > 0 && is_time_up() && !options.quiet {
        anstream::eprintln!("{HEADING}time is up{HEADING:#} with {left} seeds left; {}", how_to_go_on(options));
    }
    if is_interrupted {
        anstream::eprintln!("{HEADING}stopped{HEADING:#} with {left} seeds left; {}", how_to_go_on(options));
        std::process::exit(i32::from(crate::INTERRUPTED));
    }
    Ok(summary.passed == summary.seeds)
}

/// Returns the command that goes on with a stopped campaign.
fn how_to_go_on(options: &CampaignRun) -> String {
    if options.demo_bug.is_some() {
        let same = env::args().skip(1).collect::<Vec<_>>().join(" ");
        return format!("a planted bug is searched from the first seed again: chainbox {same}");
    }
    if options.out.is_none() {
        return "give --out FILE next time to be able to go on".to_owned();
    }
    let mut command: Vec<_> = env::args().skip(1).collect();
    if !options.resume {
        command.push("--resume".to_owned());
    }
    format!("go on with: chainbox {}", command.join(" "))
}

/// Refuses to continue a file of results of another origin.
fn check_resumed(path: &Path, campaign: &Campaign, read: &ReadResults, done: &BTreeSet<u64>) -> Result<(), Failure> {
    if let Some(origin) = &read.origin {
        origin.check(&Origin::of(&campaign.setup)).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    match done.iter().find(|seed| !campaign.contains(**seed)) {
        Some(seed) => {
            let (seeds, shard) = (&campaign.seeds, campaign.shard);
            let part = format!("seeds {}..{}, shard {shard}", seeds.start, seeds.end);
            Err(format!("{}: seed {seed} is not of {part}; give another name", path.display()).into())
        }
        None => Ok(()),
    }
}

/// Writes a line durably, so that a killed process keeps it.
fn write_line(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Shrinks a failure and writes it as a regression file.
fn keep(options: &CampaignRun, setup: &CampaignSetup, report: &RunReport) -> Result<PathBuf, Failure> {
    let shrunk = shrink(setup, report, SHRINK_RUNS_MAX);
    let (broken, detail) = match &shrunk.report.outcome {
        RunOutcome::Violated(violation) => (violation.invariant.to_string(), violation.detail.clone()),
        RunOutcome::Failed { error } => ("simulator".to_owned(), error.clone()),
        _ => ("nothing".to_owned(), "it passes".to_owned()),
    };
    let (faults, before) = (shrunk.report.plan.faults.len(), shrunk.faults_before);
    let control = setup::control_of(setup, &shrunk.report)
        .filter(|_| options.demo_bug.is_none())
        .map_or_else(String::new, |why| format!("negative control ({why}): "));
    let about = format!("{control}{}: {detail} ({faults} of {before} faults needed)", setup.consensus.name());
    let mut regression = Regression::mended(about, setup.clone(), &shrunk.report);
    regression.expected = Expected::Passes;
    let name = format!("{}-{}-{broken}.toml", setup.consensus.short_name(), report.seed);
    let path = options.findings.join(name);
    let text = regression.to_toml().map_err(|error| files::with_causes(&error))?;
    files::write(&path, text.as_bytes())?;
    let found = format!("{ERROR}seed {}: {broken} is broken: {detail}{ERROR:#}", report.seed);
    anstream::eprintln!("{}", wrapped(&found, columns()));
    anstream::eprintln!("{GOOD}shrunk{GOOD:#} from {before} faults to {faults} in {} runs:", shrunk.runs);
    anstream::eprintln!("{}", shrunk.report.plan.to_toml());
    Ok(path)
}

/// Returns the shard that a scheduler's environment names: a Slurm job array or a Kubernetes indexed job.
fn shard_of(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Shard>, Failure> {
    let number = |name: &str| -> Result<Option<u64>, Failure> {
        match variable(name) {
            Some(text) => Ok(Some(text.parse().map_err(|error| format!("{name} is {text:?}: {error}"))?)),
            None => Ok(None),
        }
    };
    if let Some(id) = number("SLURM_ARRAY_TASK_ID")? {
        let (first, last) = (number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0), number("SLURM_ARRAY_TASK_MAX")?);
        let (Some(index), Some(last)) = (id.checked_sub(first), last) else {
            return Err("SLURM_ARRAY_TASK_MIN and SLURM_ARRAY_TASK_MAX do not fit SLURM_ARRAY_TASK_ID".into());
        };
        return Ok(Some(Shard::new(index, last.saturating_sub(first) + 1).map_err(|error| error.to_string())?));
    }
    if let Some(index) = number("JOB_COMPLETION_INDEX")? {
        let name = "CHAINBOX_SHARDS";
        let count = number(name)?
            .ok_or(format!("JOB_COMPLETION_INDEX is given and {name} is not: set it to the job's completions"))?;
        return Ok(Some(Shard::new(index, count).map_err(|error| error.to_string())?));
    }
    Ok(None)
}

fn merge(options: &MergeOptions) -> Result<bool, Failure> {
    let (mut reports, mut origin) = (BTreeMap::new(), None);
    for path in &options.files {
        let mut conflict = None;
        let read = read_into(path, |report| {
            let seed = report.seed;
            if reports.insert(seed, report.clone()).is_some_and(|earlier| earlier != report) {
                conflict = Some(seed);
            }
        })?;
        if std::fs::metadata(path).is_ok_and(|file| file.len() > read.whole_bytes) {
            anstream::eprintln!(
                "{HEADING}note:{HEADING:#} {}: the last line is cut, as a killed process leaves it, and was dropped: its seed is \
                 not counted; --resume runs it",
                path.display()
            );
        }
        if let Some(got) = read.origin {
            let want = origin.get_or_insert_with(|| got.clone());
            got.check(want).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        if let Some(seed) = conflict {
            let why = "were they made by the same build, protocol and options?";
            return Err(format!("{}: seed {seed} has another result in an earlier file: {why}", path.display()).into());
        }
    }
    if let Some((from, until)) = options.expect {
        let missing: Vec<_> = (from..until).filter(|seed| !reports.contains_key(seed)).take(10).collect();
        if !missing.is_empty() {
            let count = (from..until).filter(|seed| !reports.contains_key(seed)).count();
            return Err(format!("{count} seeds are missing, such as {missing:?}").into());
        }
    }
    let mut summary = Summary::default();
    reports.values().for_each(|report| summary.add(report));
    if let Some(path) = &options.out {
        let mut text = Vec::new();
        if let Some(origin) = &origin {
            write_line(&mut text, origin)?;
        }
        for report in reports.values() {
            write_line(&mut text, report)?;
        }
        files::write(path, &text)?;
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&summary)?);
    } else {
        let what = format!("{} files merged", options.files.len());
        anstream::print!("{}", wrapped(&report::report(&what, &summary, origin.as_ref()), columns()));
    }
    Ok(summary.passed == summary.seeds)
}

fn read_into(path: &Path, take: impl FnMut(RunReport)) -> Result<ReadResults, Failure> {
    let file = File::open(path).map_err(|cause| format!("cannot read {}: {cause}", path.display()))?;
    read_results(BufReader::new(file), take)
        .map_err(|error| format!("{}: {}", path.display(), files::with_causes(&error)).into())
}

/// Truncates an incomplete last line.
fn mend_end(path: &Path, whole_bytes: u64) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).open(path);
    let mended = file.and_then(|file| file.set_len(whole_bytes));
    mended.map_err(|cause| format!("cannot mend {}: {cause}", path.display()).into())
}

fn append(path: &Path) -> Result<BufWriter<File>, Failure> {
    let failed = |cause: io::Error| format!("cannot write {}: {cause}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
    Ok(BufWriter::new(file))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn shard(pairs: &[(&str, &str)]) -> Result<Option<Shard>, String> {
        let found = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        shard_of(found).map_err(|error| error.to_string())
    }

    #[test]
    fn a_stopped_search_of_a_planted_bug_is_not_told_to_give_a_file() {
        let run_of = |flags: &[&str]| {
            let args = Cli::try_parse_from(["chainbox", "campaign"].iter().chain(flags)).unwrap();
            let Command::Campaign(options) = args.command else { panic!("a campaign") };
            how_to_go_on(&options.run.unwrap())
        };
        assert!(run_of(&["--protocol", "raft", "--seeds", "0..9"]).contains("give --out"));
        let text = run_of(&["--demo-bug", "raft-forgets-entries"]);
        assert!(text.contains("from the first seed again") && !text.contains("--out"), "{text}");
    }

    #[test]
    fn schedulers_name_the_shard() {
        assert_eq!(shard(&[]), Ok(None));
        let slurm = [("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_ARRAY_TASK_MIN", "1"), ("SLURM_ARRAY_TASK_MAX", "4")];
        assert_eq!(shard(&slurm), Ok(Shard::new(2, 4).ok()));
        assert_eq!(shard(&[("JOB_COMPLETION_INDEX", "0"), ("CHAINBOX_SHARDS", "8")]), Ok(Shard::new(0, 8).ok()));
        assert!(shard(&[("JOB_COMPLETION_INDEX", "0")]).unwrap_err().contains("CHAINBOX_SHARDS"));
        assert!(shard(&[("JOB_COMPLETION_INDEX", "8"), ("CHAINBOX_SHARDS", "8")]).is_err());
        assert!(shard(&[("SLURM_ARRAY_TASK_ID", "x")]).unwrap_err().contains("SLURM_ARRAY_TASK_ID"));
        assert!(shard(&[("SLURM_ARRAY_TASK_ID", "1")]).is_err());
    }
}

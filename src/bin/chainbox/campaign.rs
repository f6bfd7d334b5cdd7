//! `chainbox campaign`: runs many seeds and sums their results.

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
    default_sim_config, shrink,
};
use serde::Serialize;

use crate::{
    banner::{ERROR, FAINT, GOOD, HEADING},
    files, progress,
    sim_args::{CampaignCommand, CampaignOptions, CampaignRun, MergeOptions},
    table::Table,
};

type Failure = Box<dyn Error>;

/// Most runs for shrinking one failure.
const SHRINK_RUNS_MAX: u32 = 300;
/// Failures that are shrunk and written; further ones are only in the results.
const FINDINGS_MAX: usize = 20;

/// Runs the command; returns `false` when a seed failed.
pub(crate) fn run(options: &CampaignOptions) -> Result<bool, Failure> {
    match (&options.command, &options.run) {
        (Some(CampaignCommand::Merge(merge_options)), _) => merge(merge_options),
        (None, Some(run_options)) => run_shard(run_options),
        (None, None) => Err("give --protocol and --seeds, or `merge` and files".into()),
    }
}

fn run_shard(options: &CampaignRun) -> Result<bool, Failure> {
    let shard = match options.shard {
        Some(shard) => shard,
        None => shard_of(|name| env::var(name).ok())?.unwrap_or(Shard::WHOLE),
    };
    let setup = CampaignSetup::of(default_sim_config(options.protocol));
    let campaign = Campaign::new(setup.clone(), options.seeds.0..options.seeds.1).with_shard(shard);
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
    let bar = progress::seeds(count, options.quiet || options.json);
    let started = progress::wall_clock();
    let mut findings = Vec::new();
    run_parallel(&campaign, &done, threads, |report| -> io::Result<()> {
        if let Some(out) = &mut out {
            write_line(out, &report)?;
        }
        summary.add(&report);
        bar.inc(1);
        if !report.is_passed() {
            findings.push(report);
            bar.set_message(format!("{} broken", findings.len()));
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    let wall = started.elapsed();
    findings.sort_by_key(|report| report.seed);
    let mut files_written = Vec::new();
    for report in findings.iter().take(FINDINGS_MAX) {
        files_written.push(keep(options, &setup, report)?);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&summary)?);
    } else {
        let what = format!("{} seeds {}..{}, shard {shard}", options.protocol.name(), options.seeds.0, options.seeds.1);
        anstream::print!("{}", report_text(&what, &summary));
        let per_hour = count as f64 * 3_600.0 / wall.as_secs_f64().max(1e-6);
        anstream::println!(
            "{FAINT}{count} seeds in {:.1} s on {threads} threads: {per_hour:.0} an hour{FAINT:#}",
            wall.as_secs_f64()
        );
        for path in &files_written {
            anstream::println!("shows it again: chainbox replay {}", path.display());
        }
    }
    Ok(summary.passed == summary.seeds)
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
    let about = format!(
        "{}: {detail} ({} of {} faults needed)",
        options.protocol.name(),
        shrunk.report.plan.faults.len(),
        shrunk.faults_before
    );
    let mut regression = Regression::mended(about, setup.clone(), &shrunk.report);
    regression.expected = Expected::Passes;
    let name = format!("{}-{}-{broken}.toml", options.protocol.short_name(), report.seed);
    let path = options.findings.join(name);
    let text = regression.to_toml().map_err(|error| files::with_causes(&error))?;
    files::write(&path, text.as_bytes())?;
    anstream::eprintln!("{ERROR}seed {}: {broken} is broken: {detail}{ERROR:#}", report.seed);
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
        anstream::print!("{}", report_text(&format!("{} files merged", options.files.len()), &summary));
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

/// Told where no run made a transaction final.
const NOTHING_ACKNOWLEDGED: &str = "\
no transaction was acknowledged, so that `durability` had nothing to ask: a transaction is acknowledged when its block can't be \
reverted any more, which in proof of authority is some 130 blocks later, by design. `inclusion` and `convergence` still ask that a \
transaction sent after the faults is in everybody's chain, and that all chains are the same.
";

fn report_text(what: &str, summary: &Summary) -> String {
    let mut out = format!("{HEADING}{what}{HEADING:#}\n");
    let mut table = Table::new(&["", "number"]);
    let rows = [
        ("seeds", summary.seeds),
        ("passed", summary.passed),
        ("steps", summary.steps),
        ("virtual seconds", summary.virtual_time.as_secs()),
        ("transactions acknowledged", summary.acknowledged),
        ("restarts", summary.restarts),
    ];
    for (name, number) in rows {
        table.row([name.to_owned(), number.to_string()]);
    }
    for (kind, number) in &summary.faults {
        table.row([format!("fault {kind}"), number.to_string()]);
    }
    out.push_str(&table.to_string());
    if summary.acknowledged == 0 && summary.passed > 0 {
        out.push_str(NOTHING_ACKNOWLEDGED);
    }
    if summary.broken.is_empty() {
        out.push_str(&format!("{GOOD}nothing is broken{GOOD:#}\n"));
    }
    for (invariant, count) in &summary.broken {
        out.push_str(&format!("{ERROR}{invariant} is broken in {count} seeds{ERROR:#}\n"));
    }
    for (seed, failure) in summary.failures.iter().take(10) {
        out.push_str(&format!("  seed {seed}: {}: {}\n", failure.invariant, failure.detail));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(pairs: &[(&str, &str)]) -> Result<Option<Shard>, String> {
        let found = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        shard_of(found).map_err(|error| error.to_string())
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

//! The flags of `sim`, `replay` and `campaign`.

use std::{path::PathBuf, time::Duration};

use chainbox::{consensus::ConsensusKind, sim::Shard};
use clap::{Args, Subcommand};

/// Flags of `sim`.
#[derive(Args, Debug)]
pub(crate) struct SimOptions {
    /// Name of the scenario; without one, a network of --protocol runs without a script
    #[arg(conflicts_with = "list")]
    pub(crate) scenario: Option<String>,
    /// List every scenario with its expected outcome
    #[arg(long)]
    pub(crate) list: bool,

    /// Seed of everything drawn at random; by default the scenario's own, or 0
    #[arg(long, env = "CHAINBOX_SEED", help_heading = "Run")]
    pub(crate) seed: Option<u64>,
    /// Number of validators; by default the scenario's own (--list shows the allowed ones), or 4
    #[arg(long, env = "CHAINBOX_VALIDATORS", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Run")]
    pub(crate) validators: Option<u32>,
    /// With --list: only its scenarios. Without a scenario: the protocol of the network
    #[arg(long, value_parser = protocol, help_heading = "Run")]
    pub(crate) protocol: Option<ConsensusKind>,
    /// Additional fault plan, as TOML or JSON
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(crate) plan: Option<PathBuf>,
    /// Print a commented fault plan with every kind of fault, as a start for one's own
    #[arg(long, conflicts_with_all = ["scenario", "list", "json"], help_heading = "Run")]
    pub(crate) plan_example: bool,
    /// Virtual duration of a run without a scenario, such as 500ms, 7.8s, 2m or 1h
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, conflicts_with_all = ["height", "scenario"], help_heading = "Run")]
    pub(crate) duration: Option<Duration>,
    /// Height that every replica must reach in a run without a scenario
    #[arg(long, conflicts_with = "scenario", help_heading = "Run")]
    pub(crate) height: Option<u64>,

    /// Write a trace: NDJSON, or binary when the name ends in .bin; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    /// Let clients send transfers and read in a run without a scenario, write what they did and were answered (NDJSON), and check it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "height"], help_heading = "Output")]
    pub(crate) history: Option<PathBuf>,
    /// Draw a space-time diagram; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    /// Window of virtual time in the diagram, such as 2s..5500ms; by default the scenario's own
    #[arg(long, value_name = "FROM..UNTIL", value_parser = window, requires = "svg", help_heading = "Output")]
    pub(crate) window: Option<(Duration, Duration)>,
    /// Print the result, the list or the error as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Show no progress bar
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Flags of `replay`.
#[derive(Args, Debug)]
pub(crate) struct ReplayOptions {
    /// A trace (of `sim --trace`) or a regression file (of `campaign`)
    pub(crate) file: PathBuf,
    /// Show every step
    #[arg(long)]
    pub(crate) step: bool,
    /// Stop at this virtual time, such as 3s or 3250ms
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) until: Option<Duration>,
    /// Draw a space-time diagram; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Window of virtual time in the diagram, such as 2s..5500ms; by default around the violation, if there is one
    #[arg(long, value_name = "FROM..UNTIL", value_parser = window, requires = "svg")]
    pub(crate) window: Option<(Duration, Duration)>,
    /// Only the steps of this replica
    #[arg(long, value_name = "NUMBER", requires = "step")]
    pub(crate) replica: Option<u32>,
    /// Only these kinds of entries, inputs, outputs or messages, such as prepare,timer,head (an unknown one lists all)
    #[arg(long, value_name = "KIND", value_delimiter = ',', requires = "step")]
    pub(crate) kind: Vec<String>,
    /// Print from this virtual time on, such as 3s
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "step")]
    pub(crate) from: Option<Duration>,
}

/// Flags of `campaign`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct CampaignOptions {
    #[command(subcommand)]
    pub(crate) command: Option<CampaignCommand>,
    #[command(flatten)]
    pub(crate) run: Option<CampaignRun>,
    #[command(flatten)]
    pub(crate) setup: SetupFlags,
}

/// Subcommands of `campaign`.
#[derive(Debug, Subcommand)]
pub(crate) enum CampaignCommand {
    /// Merge the results of shards and print their summary
    Merge(MergeOptions),
}

/// Flags of `campaign merge`.
#[derive(Args, Debug)]
pub(crate) struct MergeOptions {
    /// Results of shards (NDJSON)
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the merged results, ordered by seed
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Seeds that must all be present, such as 0..10000
    #[arg(long, value_name = "A..B", value_parser = range)]
    pub(crate) expect: Option<(u64, u64)>,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of a campaign's run.
#[derive(Args, Debug)]
pub(crate) struct CampaignRun {
    /// Protocol of the networks; not needed with --setup
    #[arg(long, value_parser = protocol, required_unless_present_any = ["file", "demo_bug"])]
    pub(crate) protocol: Option<ConsensusKind>,
    /// Seeds, the last one excluded, such as 0..10000
    #[arg(long, value_name = "A..B", value_parser = range, required_unless_present_any = ["print_setup", "demo_bug"])]
    pub(crate) seeds: Option<(u64, u64)>,
    /// Part of the seeds to run, numbered from 0, and number of parts; by default from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Number of threads; by default one per core
    #[arg(long, short, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// Begin no seed after this time, such as 10m; --resume goes on
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Stop at the first finding of a planted bug, to see its shrinking and its file; without a name, list the bugs
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["protocol", "file", "out", "shard"])]
    pub(crate) demo_bug: Option<String>,

    /// Print the setup as a file for --setup, and run nothing
    #[arg(long, help_heading = "Setup", conflicts_with = "demo_bug")]
    pub(crate) print_setup: bool,

    /// Write the origin, then one line for each seed (NDJSON)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Skip seeds whose results --out has already
    #[arg(long, requires = "out", help_heading = "Output")]
    pub(crate) resume: bool,
    /// Folder for a regression file of each failure, with a shrunk plan
    #[arg(long, value_name = "FOLDER", default_value = "regressions", help_heading = "Output")]
    pub(crate) findings: PathBuf,
    /// Print the summary as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Flags that change the setup of a campaign.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Setup")]
pub(crate) struct SetupFlags {
    /// Setup of every seed (TOML or JSON, see --print-setup) in place of the protocol's default; the flags below change it
    #[arg(long = "setup", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Kind of each run: short, of twenty seconds with faults; long, of five minutes in which stake is withdrawn, logs are compacted
    /// and evidence comes late; turnover, of two minutes in which everybody joins and leaves; rotation, of two minutes in which sealing
    /// keys change, too; parameters, of two minutes in which the chain's parameters change all the time; registry, of two minutes in
    /// which the validators' contract adds and removes validators (poa, raft, pbft)
    #[arg(long, value_enum, value_name = "PROFILE", conflicts_with = "file")]
    pub(crate) profile: Option<RunKind>,
    /// Numbers of validators, of which each seed draws one: 4..7 (both included), or a list such as 4,7
    #[arg(long, value_name = "A..B", value_parser = counts)]
    pub(crate) validators: Option<Counts>,
    /// Replicas that may misbehave, whatever the protocol tolerates
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..=100))]
    pub(crate) liars: Option<u32>,
    /// Most faults of a seed, beside their companions
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) faults_max: Option<u32>,
    /// Transfers of clients in the phase with faults
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub(crate) transactions: Option<u32>,
    /// Blocks that the healed network must add
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(..=10_000))]
    pub(crate) blocks_after: Option<u64>,
    /// Replicas that follow and never validate
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..=100))]
    pub(crate) observers: Option<u32>,
    /// Replicas that join and leave the validators
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..=100))]
    pub(crate) candidates: Option<u32>,
    /// Virtual duration of the phase with faults, such as 20s
    #[arg(long, value_name = "DURATION", value_parser = fault_time)]
    pub(crate) fault_time: Option<Duration>,
    /// Check what clients read, too: linearizable reads by a quorum, sequentially consistent ones of single replicas
    #[arg(long)]
    pub(crate) history: bool,
    /// Longest recovery of the healed network, such as 2m
    #[arg(long, value_name = "DURATION", value_parser = recovery_time)]
    pub(crate) recovery_time: Option<Duration>,
}

/// Kind of a campaign's runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RunKind {
    Short,
    Long,
    Turnover,
    Rotation,
    Parameters,
    Registry,
}

/// Numbers of validators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) Vec<u32>);

/// Reads `4..7`, both included, or `4,7`.
fn counts(text: &str) -> Result<Counts, String> {
    let number = |text: &str| match text.trim().parse::<u32>() {
        Ok(count @ 1..=100) => Ok(count),
        _ => Err(format!("{text:?} is no number from 1 to 100")),
    };
    let counts = match text.split_once("..") {
        Some((from, until)) => (number(from)?..=number(until)?).collect(),
        None => text.split(',').map(number).collect::<Result<Vec<_>, _>>()?,
    };
    if counts.is_empty() { Err(format!("{text} has no number")) } else { Ok(Counts(counts)) }
}

/// Reads a protocol's name, whole or short.
pub(crate) fn protocol(name: &str) -> Result<ConsensusKind, String> {
    ConsensusKind::from_name(name).ok_or_else(|| {
        let names: Vec<_> = ConsensusKind::ALL.into_iter().map(ConsensusKind::short_name).collect();
        format!("choose one of {}", names.join(", "))
    })
}

/// Nanoseconds of each unit of time.
const UNITS: [(&str, u64); 5] =
    [("ns", 1), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000)];

/// Reads a number, also with a decimal point, and its unit: ns, ms, s, m or h; without one, seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let expected =
        "give a number and a unit (ns, ms, s, m or h; without one it is seconds), such as 500ms, 7.8s, 2m or 1h";
    let split = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(expected.to_owned());
    }
    let unit = match unit.trim() {
        "" => "s",
        unit => unit,
    };
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("unit {unit:?}; choose one of ns, ms, s, m, h"));
    };
    let fraction = fraction.trim_end_matches('0');
    let too_fine = || "at most to the nanosecond".to_owned();
    // Units have at most 12 decimal places in nanoseconds.
    let scale = 10_u128.checked_pow(fraction.len() as u32).filter(|_| fraction.len() <= 18).ok_or_else(too_fine)?;
    let parts = format!("0{fraction}").parse::<u128>().unwrap_or_default() * u128::from(*factor);
    if !parts.is_multiple_of(scale) {
        return Err(too_fine());
    }
    let nanos = whole.parse::<u128>().ok().and_then(|whole| whole.checked_mul(u128::from(*factor)));
    let nanos = nanos.and_then(|nanos| u64::try_from(nanos + parts / scale).ok());
    let duration = nanos.map(Duration::from_nanos);
    duration.filter(|duration| duration.as_secs() <= 10 * 365 * 86_400).ok_or_else(|| "at most ten years".to_owned())
}

/// Reads the duration of the phase with faults.
fn fault_time(text: &str) -> Result<Duration, String> {
    phase(text, "with no time for faults there are none: leave it out, or give some, such as 20s")
}

/// Reads the longest recovery.
fn recovery_time(text: &str) -> Result<Duration, String> {
    phase(text, "with no time to recover no seed can pass: leave it out, or give some, such as 2m")
}

/// Reads the duration of a campaign's phase, in whole milliseconds as its setup is written.
fn phase(text: &str, if_zero: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time.is_zero() {
        return Err(if_zero.to_owned());
    }
    if !time.subsec_nanos().is_multiple_of(1_000_000) {
        return Err("a setup has whole milliseconds".to_owned());
    }
    Ok(time)
}

fn window(text: &str) -> Result<(Duration, Duration), String> {
    let (from, until) = text.split_once("..").ok_or("give two times, such as 2s..5500ms")?;
    let (from, until) = (duration(from)?, duration(until)?);
    if from < until { Ok((from, until)) } else { Err("the first time must be before the second".to_owned()) }
}

/// Reads `A..B`.
pub(crate) fn range(text: &str) -> Result<(u64, u64), String> {
    let (from, until) = text.split_once("..").ok_or("give two numbers, such as 0..10000")?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|error| format!("{text:?}: {error}"));
    let (from, until) = (number(from)?, number(until)?);
    if from < until { Ok((from, until)) } else { Err(format!("{text} has no seed; the second number is excluded")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_ranges_are_read_or_told() {
        for (text, millis) in [("500ms", 500), ("30s", 30_000), ("2m", 120_000), ("1h", 3_600_000), ("7", 7_000)] {
            assert_eq!(duration(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        // As traces and reports write times.
        for (text, nanos) in [
            ("7.8s", 7_800_000_000),
            ("1.071590491s", 1_071_590_491),
            ("7.884000000s", 7_884_000_000),
            ("7.884000000 s", 7_884_000_000),
            ("1071590491ns", 1_071_590_491),
            ("0.5ms", 500_000),
            ("1.5m", 90_000_000_000),
            ("0.0000000001h", 360),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        for text in ["", "s", ".5s", "5.s", "1.2.3s", "5x", "-1s", "99999999999999h", "0.5ns", "0.0000000001s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(duration("x").unwrap_err().contains("without one it is seconds"));
        for text in ["0s", "0.0ms", "1.5ns", "0.5ms"] {
            assert!(fault_time(text).is_err() && recovery_time(text).is_err(), "{text}");
        }
        assert_eq!(fault_time("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(range("3..10").unwrap(), (3, 10));
        assert!(range("10..10").is_err() && range("5").is_err() && range("a..b").is_err());
        assert_eq!(window("2s..5500ms").unwrap(), (Duration::from_secs(2), Duration::from_millis(5_500)));
        assert!(window("5s..2s").is_err());
        for (text, wanted) in [("4..7", &[4, 5, 6, 7][..]), ("4", &[4]), ("4,4,7", &[4, 4, 7])] {
            assert_eq!(counts(text), Ok(Counts(wanted.to_vec())), "{text}");
        }
        for text in ["", "0", "7..4", "4,", "101", "a..b"] {
            assert!(counts(text).is_err(), "{text}");
        }
    }
}

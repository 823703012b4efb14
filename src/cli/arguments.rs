//! What can be asked for, and the help that says so.

use std::path::PathBuf;

use clap::ArgGroup;
use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;

/// A retry-storm lab: replay an outage, see what retries make of it, decide what to do.
#[derive(Debug, Parser)]
#[command(
    name = "stormlab",
    version,
    about,
    max_term_width = 100,
    after_help = "Start with:  stormlab run scenarios/storms/failover-20s.yaml",
    after_long_help = "Start with:  stormlab run scenarios/storms/failover-20s.yaml\n\n\
        Exit codes:\n  \
        0    all is well\n  \
        1    a check failed\n  \
        2    bad arguments or a bad scenario\n  \
        3    undecided: too few runs to tell\n  \
        4    a limit ended a run\n  \
        5    output could not be written\n  \
        70   an invariant broke: a bug in stormlab\n  \
        130  interrupted (Ctrl-C); 143: terminated; 129: the terminal hung up. What had \
        finished is kept"
)]
pub(super) struct Arguments {
    /// When to use colour; `auto` means on a terminal, and not where NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(super) color: ColorWhen,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorWhen {
    /// Makes it the choice of every stream opened from here on.
    pub(super) fn write_global(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a scenario: all variants, all replications; write tables and charts.
    Run(RunArguments),
    /// Run scenarios and judge what their `expect` asserts.
    Check(CheckArguments),
    /// Print a scenario as it is meant, every default filled in, and what shows on paper.
    Explain(ExplainArguments),
    /// List what real libraries do, or show one of them with its source.
    Presets(PresetsArguments),
    /// Say what changes between two policies: presets, or policies of scenarios.
    Diff(DiffArguments),
    /// Fill templates with numbers and charts from runs: pages that are never older than them.
    Page(PageArguments),
}

/// Settings of the runs.
#[derive(Clone, Debug, Args)]
pub(super) struct Runs {
    /// Replications of each variant, instead of the scenario's.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = replications)]
    pub(super) replications: Option<u32>,
    /// Seed, instead of the scenario's.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed)]
    pub(super) seed: Option<u64>,
    /// Threads; results do not depend on them. Default: one for each core.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = threads)]
    pub(super) threads: Option<usize>,
    /// Say nothing but what was asked for and what goes wrong.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// More threads than this never help, and so many at once can bring a machine down.
const MOST_THREADS: usize = 1024;

/// More replications than this are a mistake.
const MOST_REPLICATIONS: u32 = 1_000_000;

/// A whole number in a range; what is refused is told the range.
fn whole<T>(text: &str, least: T, most: T) -> Result<T, String>
where
    T: std::str::FromStr + std::fmt::Display + PartialOrd,
{
    match text.parse() {
        Ok(number) if least <= number && number <= most => Ok(number),
        _ => Err(format!("accepted are whole numbers from {least} to {most}")),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    whole(text, 1, MOST_THREADS)
}

fn replications(text: &str) -> Result<u32, String> {
    whole(text, 1, MOST_REPLICATIONS)
}

fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0, u64::MAX)
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    stormlab run scenarios/storms/failover-20s.yaml\n  \
    stormlab run failover.yaml --replications 20 --variant base,full-jitter\n  \
    stormlab run failover.yaml --json | jq '.variants.base.stuck_share'\n\n\
    Files: summary.json, manifest.json, scenario.effective.json, runs.csv, comparison.csv, \
    series-VARIANT.csv, band-VARIANT.csv, queues-VARIANT.csv where there are queues of jobs, \
    charts/*.svg and *.png. The same scenario, seed and version give the same bytes, on any \
    number of threads.")]
pub(super) struct RunArguments {
    /// The scenario.
    pub(super) file: PathBuf,
    /// Folder for the results. Default: output/NAME, NAME being the scenario's name.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) runs: Runs,
    /// Only these variants; `base` is the scenario without changes. May be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) variant: Vec<String>,
    /// Write tables only.
    #[arg(long)]
    pub(super) no_charts: bool,
    /// Print summary.json instead of words.
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    stormlab check scenarios/storms/*.yaml\n  \
    stormlab check failover.yaml --replications 200 --json\n\n\
    Each line: ✓ the whole interval is on the good side, ✗ on the bad side, ? it straddles the \
    limit and more replications are needed. The worst of several files decides the exit code.")]
pub(super) struct CheckArguments {
    /// The scenarios.
    #[arg(required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Also write the results, as `run` does, under DIR/NAME.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) runs: Runs,
    /// Print the judgements as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    stormlab explain scenarios/storms/failover-20s.yaml\n  \
    stormlab explain failover.yaml --variant full-jitter\n  \
    stormlab explain failover.yaml --variant full-jitter --json > full-jitter.json\n  \
    stormlab explain --policy grpc\n  \
    stormlab explain --policy failover.yaml:eager\n  \
    stormlab explain --policy failover.yaml:eager@full-jitter")]
#[command(group(ArgGroup::new("what").required(true).args(["file", "policy"])))]
pub(super) struct ExplainArguments {
    /// The scenario.
    pub(super) file: Option<PathBuf>,
    /// One policy alone, every wait with its bounds: a preset, FILE:POLICY or FILE:POLICY@VARIANT.
    #[arg(long, value_name = "NAME")]
    pub(super) policy: Option<String>,
    /// The variant of the file; a preset has none. Default: base.
    #[arg(long, value_name = "NAME")]
    pub(super) variant: Option<String>,
    /// Print JSON: the variant as a scenario again, with what shows on paper under `explained`; or
    /// the schedule of the policy.
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `presets`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    stormlab presets\n  \
    stormlab presets --filter aws\n  \
    stormlab presets grpc\n  \
    stormlab presets grpc --json | jq .policy\n\n\
    In a scenario: policies: { mine: { preset: grpc, retry: { max_attempts: 3 } } }")]
pub(super) struct PresetsArguments {
    /// Show this one whole.
    pub(super) name: Option<String>,
    /// Only those that speak of it, as a whole word: in their name, title, library, source, notes or
    /// warning. Where none does, words that begin with it.
    #[arg(long, value_name = "WORD", conflicts_with = "name")]
    pub(super) filter: Option<String>,
    /// Print them as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    stormlab diff grpc-before-2024 grpc\n  \
    stormlab diff polly-8 failover.yaml:eager --json\n  \
    stormlab diff failover.yaml:eager failover.yaml:eager@full-jitter\n\n\
    A name is that of a preset, FILE:POLICY, or FILE:POLICY@VARIANT, so that the base and a variant \
    of one file can be compared. Costs are counted over the first hour of an outage: 100 calls a \
    second for two minutes, to a service that refuses everything or hangs.")]
pub(super) struct DiffArguments {
    /// The policy as it is: a preset, FILE:POLICY or FILE:POLICY@VARIANT.
    pub(super) before: String,
    /// The policy as it would be.
    pub(super) after: String,
    /// The variant of each file whose name says none. Default: base.
    #[arg(long, value_name = "NAME")]
    pub(super) variant: Option<String>,
    /// Print the difference as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `page`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
    stormlab page scenarios/mission/contradictions.page.md --out docs\n  \
    stormlab page scenarios/mission/contradictions.page.md --out docs --check\n\n\
    A template is named NAME.page.md and becomes NAME.md. In it, {{ FILE VARIANT MEASURE }} is a \
    number as `expect` would judge it; docs/mission/README.md has the other forms.")]
pub(super) struct PageArguments {
    /// The templates, each NAME.page.md.
    #[arg(required = true)]
    pub(super) templates: Vec<PathBuf>,
    /// Folder for the pages and their charts.
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Write nothing; compare what is there with what the runs say.
    #[arg(long)]
    pub(super) check: bool,
    /// Threads; results do not depend on them. Default: one for each core.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = threads)]
    pub(super) threads: Option<usize>,
    /// Say nothing but what goes wrong.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

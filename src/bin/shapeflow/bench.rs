//! `shapeflow bench`: measures times and memory of building, compiling and running models, and compares them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ArgMatches;
use serde_json::{Value as Json, json};
use shapeflow::{Isa, Stats, Tensor, TensorView};

use super::document::{bytes_text, plural, table, with_final_newline};
use super::failure::Failure;
use super::model::{NamedFeeds, fetches, flag, import_model, read_file, refuse_missing_kernels, results};
use super::progress::Progress;
use super::run::options;
use super::signatures::require_signature;
use super::state::{State, with_state};

/// What is measured: a model and its feeds, with the instruction set and the number of threads that run it.
struct BenchVariant<'a> {
    model: &'a Path,
    feeds: Option<&'a Path>,
    isa: Option<Isa>,
    threads: usize,
}

/// The measures of a variant. Times are in microseconds.
struct Measures {
    build: f64,
    compile: f64,
    first: f64,
    /// The times of the measured runs, sorted.
    runs: Vec<f64>,
    kernels: usize,
    interpreted: Vec<String>,
    compiles: usize,
    arena_bytes: usize,
    peak_rss_bytes: Option<u64>,
}

/// Measures every combination of the given models, feeds, instruction sets and numbers of threads.
pub(crate) fn bench(arguments: &ArgMatches) -> Result<Vec<u8>, Failure> {
    let models: Vec<&PathBuf> = arguments.get_many("model").into_iter().flatten().collect();
    let feeds: Vec<Option<&Path>> = match arguments.get_many::<PathBuf>("feeds") {
        Some(files) => files.map(|file| Some(file.as_path())).collect(),
        None => vec![None],
    };
    let isas: Vec<Option<Isa>> = match arguments.get_many::<String>("isa") {
        Some(names) => names.map(|name| Ok(Some(name.parse::<Isa>()?))).collect::<Result<_, Failure>>()?,
        None => vec![None],
    };
    let threads: Vec<usize> = arguments
        .get_many::<u16>("threads")
        .into_iter()
        .flatten()
        .map(|threads| usize::from(*threads))
        .collect();
    let is_stdin = |file: &Path| file == Path::new("-");
    let variants = models.len() * feeds.len() * isas.len() * threads.len();
    if variants > 1
        && models.iter().map(|file| file.as_path()).chain(feeds.iter().copied().flatten()).any(is_stdin)
    {
        return Err(Failure::input(format_args!(
            "standard input can be read once: a bench of {variants} variants must have files"
        )));
    }
    let mut measured: Vec<(BenchVariant<'_>, Measures)> = Vec::new();
    for model in models {
        for feeds in &feeds {
            for isa in &isas {
                for threads in &threads {
                    let variant = BenchVariant { model, feeds: *feeds, isa: *isa, threads: *threads };
                    let measures = measure(arguments, &variant)?;
                    measured.push((variant, measures));
                }
            }
        }
    }
    if flag(arguments, "json") {
        let document = match &measured[..] {
            [(_, measures)] => measures.json(),
            _ => json!({"variants": measured.iter().map(variant_json).collect::<Vec<_>>()}),
        };
        return Ok(with_final_newline(document.to_string()));
    }
    match &measured[..] {
        [(_, measures)] => Ok(with_final_newline(measures.text())),
        _ => Ok(with_final_newline(comparison(&measured))),
    }
}

/// Builds, compiles and runs a variant.
fn measure(arguments: &ArgMatches, variant: &BenchVariant<'_>) -> Result<Measures, Failure> {
    let number = |name: &str| arguments.get_one::<u32>(name).copied().unwrap_or_default();
    let (warmup, repeat) = (number("warmup"), number("repeat"));
    let fetches = fetches(arguments);
    let peak_is_own = reset_peak_rss();
    let mut feeds = variant.feeds.map_or(Ok(NamedFeeds::none()), NamedFeeds::read_file)?;
    let mut progress = Progress::new();
    let start = Instant::now();
    let model = read_file(variant.model)?;
    let imported = import_model(arguments, &model, false, fetches.as_deref(), Some(&mut feeds))?;
    require_signature(arguments, &model, fetches.as_deref())?;
    let values = results(&imported, fetches.as_deref())?;
    let state = State::results(&imported)?;
    let build = micros(start);
    refuse_missing_kernels(&imported, &values)?;
    progress.show(|| "compiling".to_string());
    let mut options = options(arguments).threads(variant.threads);
    if let Some(isa) = variant.isa {
        options = options.isa(isa);
    }
    let start = Instant::now();
    let exe = imported.graph().compile_with(&options, with_state(&values, &state))?;
    let compile = micros(start);
    feeds.add_state(State::initial(&imported)?);
    let tensors = feeds.of(&exe)?;
    let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
    let mut runner = exe.runner();
    let start = Instant::now();
    runner.run(&views)?;
    let first = micros(start);
    for done in 0..warmup {
        progress.show(|| format!("warm-up run {} of {warmup}", done + 1));
        runner.run(&views)?;
    }
    let mut runs = Vec::new();
    for done in 0..repeat {
        progress.show(|| format!("run {} of {repeat}", done + 1));
        let start = Instant::now();
        runner.run(&views)?;
        runs.push(micros(start));
    }
    runs.sort_by(f64::total_cmp);
    let stats = exe.stats();
    Ok(Measures {
        build,
        compile,
        first,
        runs,
        kernels: stats.kernels,
        interpreted: interpreted_nodes(&stats),
        compiles: stats.compiles.len(),
        arena_bytes: stats.arena_bytes,
        peak_rss_bytes: peak_rss_bytes().filter(|_| peak_is_own),
    })
}

impl Measures {
    /// Returns the time that this share of the runs did not exceed. There is at least one run.
    fn quantile(&self, share: f64) -> f64 {
        self.runs[((self.runs.len() - 1) as f64 * share).round() as usize]
    }

    /// Returns the number of runs in a second at the median time.
    fn throughput(&self) -> f64 {
        1e6 / self.quantile(0.5)
    }

    fn json(&self) -> Json {
        json!({
            "build_us": self.build,
            "compile_us": self.compile,
            "first_run_us": self.first,
            "run_us": {"min": self.quantile(0.0), "median": self.quantile(0.5), "p90": self.quantile(0.9)},
            "runs_per_s": self.throughput(),
            "kernels": self.kernels,
            "interpreted_nodes": self.interpreted,
            "compiles": self.compiles,
            "arena_bytes": self.arena_bytes,
            "peak_rss_bytes": self.peak_rss_bytes,
        })
    }

    fn text(&self) -> String {
        let interpreted = match self.interpreted.is_empty() {
            true => String::new(),
            false => format!("no kernel  {}, which the interpreter computes\n", self.interpreted.join(", ")),
        };
        let figures = format!(
            "build      {}\ncompile    {}\nfirst run  {}\nrun        median {}, 90 % within {}, fastest {} ({})\n\
             throughput {} runs/s\nkernels    {}, {}\narena      {}\npeak RSS   {}\n",
            time_text(self.build),
            time_text(self.compile),
            time_text(self.first),
            time_text(self.quantile(0.5)),
            time_text(self.quantile(0.9)),
            time_text(self.quantile(0.0)),
            plural(self.runs.len(), "run"),
            rate_text(self.throughput()),
            self.kernels,
            plural(self.compiles, "compile"),
            bytes_text(self.arena_bytes as u64),
            self.peak_rss_bytes.map_or("-".to_string(), bytes_text),
        );
        figures + &interpreted
    }
}

impl BenchVariant<'_> {
    fn isa_text(&self) -> String {
        self.isa.map_or("host".to_string(), |isa| isa.to_string())
    }
}

fn variant_json((variant, measures): &(BenchVariant<'_>, Measures)) -> Json {
    let mut json = measures.json();
    if let Some(object) = json.as_object_mut() {
        object.insert("model".to_string(), variant.model.display().to_string().into());
        let feeds = variant.feeds.map(|feeds| feeds.display().to_string());
        object.insert("feeds".to_string(), feeds.into());
        object.insert("isa".to_string(), variant.isa.map(|isa| isa.to_string()).into());
        object.insert("threads".to_string(), variant.threads.into());
    }
    json
}

/// Returns a table with a row for each variant. The last column compares the medians with the first row.
fn comparison(measured: &[(BenchVariant<'_>, Measures)]) -> String {
    let titles =
        ["model", "feeds", "isa", "threads", "compile", "median", "90 % within", "runs/s", "to the first"];
    let mut rows = vec![titles.map(str::to_string)];
    let first = measured.first().map_or(1.0, |(_, measures)| measures.quantile(0.5));
    rows.extend(measured.iter().map(|(variant, measures)| {
        [
            variant.model.display().to_string(),
            variant.feeds.map_or("-".to_string(), |feeds| feeds.display().to_string()),
            variant.isa_text(),
            variant.threads.to_string(),
            time_text(measures.compile),
            time_text(measures.quantile(0.5)),
            time_text(measures.quantile(0.9)),
            rate_text(measures.throughput()),
            format!("{:.2}×", measures.quantile(0.5) / first),
        ]
    }));
    table(&rows)
}

/// Returns the nodes that the interpreter computes, also in branches and loop bodies.
fn interpreted_nodes(stats: &Stats) -> Vec<String> {
    let inner = stats.regions.iter().flat_map(|region| interpreted_nodes(&region.stats));
    stats.interpreted_nodes.iter().cloned().chain(inner).collect()
}

fn time_text(us: f64) -> String {
    if us >= 1000.0 { format!("{:.2} ms", us / 1000.0) } else { format!("{us:.2} µs") }
}

fn rate_text(per_second: f64) -> String {
    if per_second >= 100.0 { format!("{per_second:.0}") } else { format!("{per_second:.2}") }
}

fn micros(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64 / 1000.0
}

/// Resets the peak of the resident memory to the present size. Returns whether the system allows this.
fn reset_peak_rss() -> bool {
    // The number 5 resets the peak: see proc_pid_clear_refs(5).
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Returns the peak resident memory of this process since the last reset, which only Linux reports.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

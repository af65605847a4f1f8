//! `shapeflow bench`: measures times and memory of building, compiling and running a model.

use std::time::Instant;

use clap::ArgMatches;
use serde_json::json;
use shapeflow::{Tensor, TensorView};

use super::document::{lines, plural};
use super::failure::Failure;
use super::model::{Feeds, fetches, flag, import, results};
use super::progress::Progress;
use super::run::options;

/// Builds, compiles and runs the model, and prints the times.
pub(crate) fn bench(arguments: &ArgMatches) -> Result<Vec<u8>, Failure> {
    let fetches = fetches(arguments);
    let mut feeds = Feeds::required(arguments)?;
    let mut progress = Progress::new();
    let start = Instant::now();
    let imported = import(arguments, fetches.as_deref(), Some(&mut feeds))?;
    let values = results(&imported, fetches.as_deref())?;
    let build = micros(start);
    let named: Vec<(&str, shapeflow::Value<'_>)> =
        values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    progress.show(|| "compiling".to_string());
    let start = Instant::now();
    let exe = imported.graph().compile_with(&options(arguments), &named[..])?;
    let compile = micros(start);
    let tensors = feeds.of(&exe)?;
    let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
    let mut runner = exe.runner();
    let start = Instant::now();
    runner.run(&views)?;
    let first = micros(start);
    let repeat = arguments.get_one::<u32>("repeat").copied().unwrap_or(1).max(1);
    let mut times = Vec::new();
    for done in 0..repeat {
        progress.show(|| format!("run {done} of {repeat}"));
        let start = Instant::now();
        runner.run(&views)?;
        times.push(micros(start));
    }
    drop(progress);
    times.sort_by(f64::total_cmp);
    // There is at least one run, so `times` is not empty.
    let quantile = |share: f64| times.get(((times.len() - 1) as f64 * share).round() as usize).copied();
    let (fastest, median, p90) = (quantile(0.0), quantile(0.5), quantile(0.9));
    let stats = exe.stats();
    if flag(arguments, "json") {
        return Ok(lines(
            json!({
                "build_us": build,
                "compile_us": compile,
                "first_run_us": first,
                "run_us": {"min": fastest, "median": median, "p90": p90},
                "kernels": stats.kernels,
                "compiles": stats.compiles.len(),
                "arena_bytes": stats.arena_bytes,
                "peak_rss_bytes": peak_rss_bytes(),
            })
            .to_string(),
        ));
    }
    let text = |us: Option<f64>| match us {
        Some(us) if us >= 1000.0 => format!("{:.2} ms", us / 1000.0),
        Some(us) => format!("{us:.2} µs"),
        None => "-".to_string(),
    };
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    Ok(lines(format!(
        "build      {}\ncompile    {}\nfirst run  {}\nrun        median {}, 90 % within {}, fastest {} ({})\n\
         kernels    {}, {}\narena      {}\npeak RSS   {}\n",
        text(Some(build)),
        text(Some(compile)),
        text(Some(first)),
        text(median),
        text(p90),
        text(fastest),
        plural(times.len(), "run"),
        stats.kernels,
        plural(stats.compiles.len(), "compile"),
        megabytes(stats.arena_bytes as u64),
        peak_rss_bytes().map_or("-".to_string(), megabytes),
    )))
}

fn micros(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64 / 1000.0
}

/// Returns the peak resident memory of this process, which only Linux tells.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

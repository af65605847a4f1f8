//! Measures whole pipelines, on which shapeflow is compared with its peers.
//!
//! A case is a graph with its inputs. A row measures one quantity of a case, such as the time of a run.
//!
//! `cargo bench --bench pipelines -- [MODE]`, where the mode is one of:
//!
//! - none, or a filter: times the rows with criterion.
//! - `json [FILTER]`: prints a line `{"row", "how", "unit", "median", "min"}` per row.
//! - `serve`: answers the requests of `peers/run.py`; see `pipelines/serve.rs`.
//! - `first [CASE]`: prints the time to the first result, in a process that compiled nothing before.
//! - `compile [CASE]`: prints the costs of building, compiling, and running at a new size; see `pipelines/compile.rs`.
//! - `count CASE CALLS`: runs a case CALLS times, for tools that count instructions.
//! - `threads [CASE]`: compares one thread with two.
//! - `plans`: prints the costs of runs with new sizes and with kept plans.
//! - `dump [CASE] [clif|asm]`: prints the kernels of a case, and their code.

#[path = "pipelines/case.rs"]
mod case;
#[path = "pipelines/compile.rs"]
mod compile;
#[path = "pipelines/compiled_case.rs"]
mod compiled_case;
#[path = "pipelines/einsums.rs"]
mod einsums;
#[path = "pipelines/elementwise.rs"]
mod elementwise;
#[path = "pipelines/indices.rs"]
mod indices;
#[path = "pipelines/models.rs"]
mod models;
#[path = "pipelines/movement.rs"]
mod movement;
#[path = "pipelines/plans.rs"]
mod plans;
#[path = "pipelines/ragged.rs"]
mod ragged;
#[path = "pipelines/reductions.rs"]
mod reductions;
#[path = "pipelines/row.rs"]
mod row;
#[path = "pipelines/serve.rs"]
mod serve;
#[path = "pipelines/sorting.rs"]
mod sorting;
#[path = "pipelines/threads.rs"]
mod threads;

use std::hint::black_box;
use std::time::{Duration, Instant};

use case::Case;
use compiled_case::CompiledCase;
use criterion::Criterion;
use row::{How, Row};
use serde_json::json;
use shapeflow::{Result, StageKind};

fn main() -> Result<()> {
    let cases = cases();
    let rows = row::rows(&cases);
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let word = words.get(1).map(String::as_str);
    match words.first().map(String::as_str) {
        Some("serve") => serve::serve(&cases, &rows),
        Some("json") => {
            print(&cases, &rows, word.unwrap_or(""))?;
            println!("{}", json!({"not built": row::WITHOUT_OP}));
            Ok(())
        }
        Some("first") => {
            for case in chosen(&cases, word) {
                let inputs = (case.inputs)()?;
                println!("{:.1}", compiled_case::first_result(case, &inputs)?);
            }
            Ok(())
        }
        Some("compile") => match words.get(2) {
            Some(before) => {
                for case in chosen(&cases, word) {
                    println!("{}", compile::measure(case, compile::Before::of(before))?);
                }
                Ok(())
            }
            None => {
                let is_measured = |case: &&Case| row::FIRST.contains(&case.name);
                compile::print(&chosen(&cases, word).filter(is_measured).collect::<Vec<_>>())
            }
        },
        Some("count") => {
            let calls = words.get(2).and_then(|word| word.parse().ok()).unwrap_or(1);
            for case in chosen(&cases, word) {
                println!("{}", compiled_case::call_repeatedly(case, calls)?);
            }
            Ok(())
        }
        Some("plans") => plans::print(),
        Some("threads") => threads::compare(chosen(&cases, word)),
        Some("dump") => {
            for case in chosen(&cases, word) {
                let exe = case.compile(&(case.inputs)()?)?;
                println!("{}: {:?}\n{}", case.name, exe.stats(), exe.kernels());
                match words.get(2).map(String::as_str) {
                    Some("clif") => println!("{}", exe.clif()?),
                    Some("asm") => println!("{}", exe.snapshot(StageKind::Asm)?.text()),
                    _ => {}
                }
            }
            Ok(())
        }
        _ => criterion(&cases, &rows),
    }
}

fn cases() -> Vec<Case> {
    let mut cases = elementwise::cases();
    cases.extend(reductions::cases());
    cases.extend(movement::cases());
    cases.extend(indices::cases());
    cases.extend(sorting::cases());
    cases.extend(ragged::cases());
    cases.extend(einsums::cases());
    cases.extend(models::cases());
    cases
}

/// Returns the cases with a name, or all cases.
fn chosen<'c>(cases: &'c [Case], name: Option<&str>) -> impl Iterator<Item = &'c Case> {
    cases.iter().filter(move |case| name.is_none_or(|name| case.name == name))
}

/// Measures each row whose name contains `filter`, and prints a line of JSON for it.
fn print(cases: &[Case], rows: &[Row], filter: &str) -> Result<()> {
    for row in rows.iter().filter(|row| row.name.contains(filter)) {
        let Some(case) = chosen(cases, Some(row.case)).next() else { continue };
        let inputs = (case.inputs)()?;
        let mut values = match row.how {
            How::Memory => vec![compiled_case::memory(case)?],
            How::First => {
                (0..10).map(|_| compiled_case::first_result(case, &inputs)).collect::<Result<_>>()?
            }
            how => CompiledCase::new(case, inputs)?.samples(how, Duration::from_millis(300))?,
        };
        values.sort_by(f64::total_cmp);
        let (median, min) = (values[values.len() / 2], values[0]);
        let how = format!("{:?}", row.how);
        println!(
            "{}",
            json!({"row": row.name, "how": how, "unit": row.how.unit(), "median": median, "min": min})
        );
    }
    Ok(())
}

/// Measures with criterion every row whose quantity is a time.
fn criterion(cases: &[Case], rows: &[Row]) -> Result<()> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .sample_size(10)
        .nresamples(2000)
        .without_plots()
        .configure_from_args();
    let mut failure = None;
    for row in rows.iter().filter(|row| row.how != How::Memory) {
        let Some(case) = chosen(cases, Some(row.case)).next() else { continue };
        let mut compiled = None;
        criterion.bench_function(&row.name, |bencher| {
            bencher.iter_custom(|count| {
                let mut timed = || -> Result<Duration> {
                    let compiled = match &mut compiled {
                        Some(compiled) => compiled,
                        empty => empty.insert(CompiledCase::new(case, (case.inputs)()?)?),
                    };
                    if row.how == How::First {
                        let micros = (0..count).map(|_| compiled_case::first_result(case, compiled.inputs()));
                        let micros: f64 = micros.sum::<Result<f64>>()?;
                        return Ok(Duration::from_secs_f64(micros * 1e-6));
                    }
                    compiled.with_call(row.how, |call| {
                        let start = Instant::now();
                        for _ in 0..count {
                            black_box(call()?);
                        }
                        Ok(start.elapsed())
                    })
                };
                timed().unwrap_or_else(|error| {
                    failure.get_or_insert(error);
                    Duration::from_secs(1)
                })
            });
        });
    }
    failure.map_or(Ok(()), Err)
}

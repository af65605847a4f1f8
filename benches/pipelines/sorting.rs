//! Cases that sort and search, and cases that accumulate elements: running sums, counts and sums of segments.

use shapeflow::{Result, Tensor};

use super::case::{Build, Case, distinct, integers, numbers};

const MEBI: usize = 1 << 20;

/// Returns all cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        vector("sort 1M f32", |_, x| Ok(vec![x[0].sort(0, false)?])),
        vector("argsort 1M f32", |_, x| Ok(vec![x[0].argsort(0, false)?])),
        Case::new(
            "top_k 100 of [1024,10000]",
            &["[rows, columns]"],
            || Ok(vec![distinct(&[1024, 10_000])?]),
            |_, x| Ok(x[0].top_k(100)?.to_vec()),
        ),
        Case::new("searchsorted 1M in 10k", &["[n]", "[k]"], search_inputs, |_, x| {
            Ok(vec![x[0].searchsorted(x[1], false)?])
        }),
        vector("cumsum 1M f32", |_, x| Ok(vec![x[0].cumsum(0)?])),
        matrix("cumsum axis 0 of [4096,1024]", |_, x| Ok(vec![x[0].cumsum(0)?])),
        matrix("cumsum axis 1 of [4096,1024]", |_, x| Ok(vec![x[0].cumsum(1)?])),
        Case::new(
            "bincount 4M in 1024",
            &["[n]"],
            || Ok(vec![integers(&[4 * MEBI], 1024)?]),
            |_, x| Ok(vec![x[0].bincount(1024)?]),
        ),
        Case::new(
            "unsorted_segment_sum 1M in 10k",
            &["[n]", "[n]"],
            || Ok(vec![numbers(&[MEBI])?, integers(&[MEBI], 10_000)?]),
            |_, x| Ok(vec![x[0].unsorted_segment_sum(x[1], 10_000)?]),
        ),
    ]
}

/// Returns a case of 1M numbers that differ.
fn vector(name: &'static str, build: Build) -> Case {
    Case::new(name, &["[n]"], || Ok(vec![distinct(&[MEBI])?]), build)
}

/// Returns a case of a matrix.
fn matrix(name: &'static str, build: Build) -> Case {
    Case::new(name, &["[rows, columns]"], || Ok(vec![numbers(&[4096, 1024])?]), build)
}

/// Returns 10,000 ascending numbers, and the numbers to search.
fn search_inputs() -> Result<Vec<Tensor>> {
    let mut sorted = distinct(&[10_000])?.to_vec::<f32>()?;
    sorted.sort_by(f32::total_cmp);
    Ok(vec![Tensor::from_vec(&[sorted.len()], sorted)?, numbers(&[MEBI])?])
}

//! Members of ragged values: each encoding of a partition is computed once, and at least one test calls each member.

use std::collections::BTreeSet;
use std::path::Path;

use shapeflow::{DType, Graph, RaggedTensor, RaggedValue, Result, RowPartition, Tensor, ragged, shape};

use crate::source_files::collect_rust_files;

#[test]
fn every_encoding_is_computed_once() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::F32, 1, shape![])?;
    let all = || -> Result<[String; 4]> {
        let all = [x.row_starts()?, x.row_limits()?, x.row_lengths()?, x.value_rowids()?];
        Ok(all.map(|value| format!("{value:?}")))
    };
    let (first, nodes) = (all()?, g.len());
    assert_eq!((all()?, g.len()), (first, nodes));
    let values = (x.partition().row_starts()?, x.partition().row_limits()?);
    assert_eq!(format!("{values:?}"), format!("{:?}", (x.row_starts()?, x.row_limits()?)));
    Ok(())
}

#[test]
fn an_encoding_computed_in_a_branch_is_computed_again_outside() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::F32, 1, shape![])?;
    let p = g.input("p", DType::Bool, shape![])?;
    let chosen =
        g.cond(p, || Ok([x.row_lengths()?, x.value_rowids()?]), || Ok([x.row_starts()?, x.row_limits()?]))?;
    let all = [x.row_lengths()?, x.value_rowids()?, x.row_starts()?, x.row_limits()?];
    let exe = g.compile((("chosen", chosen[0]), ("lengths", all[0]), ("starts", all[2])))?;
    for (p, chosen) in [(true, [2i64, 1]), (false, [0, 2])] {
        let p = Tensor::scalar(p);
        let results = exe.feed("x", &ragged![[1.0f32, 2.0], [3.0]]).feed("p", &p).run()?;
        assert_eq!(results.tensor("chosen")?.to_vec::<i64>()?, chosen);
        assert_eq!(results.tensor("lengths")?.to_vec::<i64>()?, [2, 1]);
        assert_eq!(results.tensor("starts")?.to_vec::<i64>()?, [0, 2]);
    }
    Ok(())
}

#[test]
fn partitions_convert_their_dtype() -> Result<()> {
    let rows = RowPartition::from_row_splits([0i64, 2, 3], 3)?;
    let narrow = rows.with_dtype(DType::I32)?;
    assert_eq!(narrow.row_splits().to_vec::<i32>()?, [0, 2, 3]);
    assert_eq!(narrow.with_dtype(DType::I64)?, rows);
    let rt = RaggedTensor::from_row_splits([1, 2, 3], [0, 2, 3])?;
    assert_eq!((rt.row_splits_dtype(), RaggedTensor::partition(&rt).nvals()), (DType::I32, 3));
    Ok(())
}

#[test]
fn ranges_between_starts_and_limits_are_rows() -> Result<()> {
    let g = Graph::new();
    let [starts, limits] = ["starts", "limits"].map(|name| g.input(name, DType::I32, shape!["n"]).unwrap());
    let exe = g.compile([("y", RaggedValue::range(starts, limits, g.constant(2)?)?)])?;
    let (starts, limits) = (Tensor::from([0, 7, -3]), Tensor::from([5, 7, 0]));
    let y = exe.feed("starts", &starts).feed("limits", &limits).run()?.ragged("y")?;
    assert_eq!(y.to_string(), "[[0, 2, 4], [], [-3, -1]]");
    Ok(())
}

#[cfg(feature = "strings")]
#[test]
fn weights_are_added_and_values_crossed_by_row() -> Result<()> {
    let g = Graph::new();
    let (rows, weights) = (g.ragged_constant(&ragged![[1, 0, 1], []])?, g.constant([0.5f32, 2.0, 1.0])?);
    let crossed = RaggedValue::cross_hashed(&[rows.cast(DType::I64)?.into()], 7, 3)?;
    let exe = g.compile((("sums", rows.bincount_weighted(2, weights)?), ("crossed", crossed)))?;
    let results = exe.run_named(&[])?;
    assert_eq!(results.tensor("sums")?.to_vec::<f32>()?, [2.0, 1.5, 0.0, 0.0]);
    assert_eq!(results.ragged("crossed")?.row_lengths().to_vec::<i64>()?, [3, 0]);
    Ok(())
}

/// The types of ragged tensors whose members a test calls.
const OWNERS: [&str; 4] = ["RaggedTensor", "RaggedValue", "RowPartition", "RowPartitionValue"];

/// The conversions from and to Arrow's arrays need the feature `arrow`. Their tests are next to their code.
const TESTED_ELSEWHERE: [&str; 2] = ["RaggedTensor::from_arrow", "RaggedTensor::to_arrow"];

/// Returns the type of an `impl` line without a trait.
fn implemented(line: &str) -> Option<&'static str> {
    let rest = line.strip_prefix("impl")?.trim_start_matches("<'g>").trim_start();
    let name = rest.split(['<', ' ']).next()?;
    OWNERS.into_iter().find(|owner| *owner == name)
}

/// Returns the public members that sources define: the type, the name, and whether the member takes `self`.
fn members(source: &str) -> Vec<(&'static str, String, bool)> {
    let (mut owner, mut found) = (None, Vec::new());
    for (index, line) in source.lines().enumerate() {
        if line.starts_with("impl") {
            owner = implemented(line);
        }
        let (Some(owner), Some(rest)) = (owner, line.strip_prefix("    pub fn ")) else { continue };
        let name = rest.split(['(', '<']).next().unwrap_or_default().to_string();
        // The parameters begin on this line or the next one.
        let parameters = source.lines().skip(index).take(2).collect::<String>();
        let has_self = ["(self", "(&self", "(        self", "(        &self"];
        found.push((owner, name, has_self.iter().any(|start| parameters.contains(start))));
    }
    found
}

#[test]
fn each_member_is_called_by_a_test() {
    let read = |folder: &str| -> String {
        let mut paths = Vec::new();
        collect_rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut paths);
        paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
    };
    let tests = read("tests/road");
    let sources = ["src/ragged", "src/graph", "src/ops/ragged"].map(read).concat();
    let members: BTreeSet<_> = members(&sources).into_iter().collect();
    assert!(members.len() > 150, "only {} members", members.len());
    let is_called = |(owner, name, has_self): &(&str, String, bool)| {
        let path = format!("{owner}::{name}");
        let calls = |start: &str| {
            tests.match_indices(start).any(|(at, _)| {
                let next = tests[at + start.len()..].chars().next();
                !next.is_some_and(|next| next.is_alphanumeric() || next == '_')
            })
        };
        TESTED_ELSEWHERE.contains(&path.as_str()) || calls(&path) || (*has_self && calls(&format!(".{name}")))
    };
    let uncalled: Vec<_> = members.iter().filter(|member| !is_called(member)).collect();
    assert!(uncalled.is_empty(), "no test calls {uncalled:?}");
}

//! Nodes with `bad_indices_policy: IGNORE` ignore positions outside the tensor. The results are compared with naive
//! loops.

use shapeflow::interchange::{ImportOptions, Model, to_pbtxt};
use shapeflow::{Backend, CompileOptions, Result, Tensor};

/// The size of the last axis, the row. A position has one index for each axis before it.
const ROW: usize = 3;

/// Returns a graph with the node `y` of this op. The inputs of the node are placeholders with these names and
/// dtypes.
fn node(op: &str, inputs: &[(&str, &str)], attrs: &str) -> String {
    let mut text = String::new();
    let mut names = String::new();
    for (name, dtype) in inputs {
        text += &format!(
            r#"node {{ name: "{name}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {dtype} }} }} }} "#
        );
        names += &format!(r#"input: "{name}" "#);
    }
    format!(
        r#"{text} node {{ name: "y" op: "{op}" {names} {attrs}
           attr {{ key: "bad_indices_policy" value {{ s: "IGNORE" }} }} }} versions {{ producer: 1882 }}"#
    )
}

/// Runs `y` on both backends, and returns both results.
fn run(text: &str, feeds: &[&Tensor]) -> Result<Vec<Tensor>> {
    let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    let views: Vec<_> = feeds.iter().map(|feed| feed.view()).collect();
    let mut results = Vec::new();
    for backend in [Backend::Jit, Backend::Interpreter] {
        let options = CompileOptions::new().backend(backend);
        results
            .push(imported.graph().compile_with(&options, imported.value("y")?)?.run_all(&views)?.remove(0));
    }
    Ok(results)
}

/// Returns random positions with one index for each of `sizes`. About half of the positions have an index that is out
/// of range, sometimes as far as `i64::MIN` or `i64::MAX`.
fn positions(count: usize, sizes: &[usize]) -> Vec<i64> {
    let mut state = 7u64;
    let mut draw = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut indices = Vec::new();
    for _ in 0..count {
        for &size in sizes {
            let index = draw(size as u64) as i64;
            indices.push(match draw(4 * sizes.len() as u64) {
                0 => -1 - index,
                1 => size as i64 + index,
                2 => [i64::MIN, i64::MAX, 1 << 32][draw(3) as usize],
                _ => index,
            });
        }
    }
    indices
}

/// Returns the number of the row at a position; `None` if an index is out of range.
fn row(position: &[i64], sizes: &[usize]) -> Option<usize> {
    position.iter().zip(sizes).try_fold(0, |row, (index, size)| {
        let index = usize::try_from(*index).ok().filter(|index| index < size)?;
        Some(row * size + index)
    })
}

#[test]
fn positions_outside_are_ignored() -> Result<()> {
    for sizes in [&[11][..], &[5, 4], &[2, 3, 2]] {
        for count in [0, 1, 37, 3000] {
            let depth = sizes.len();
            let indices = positions(count, sizes);
            let rows: Vec<Option<usize>> =
                indices.chunks(depth).map(|position| row(position, sizes)).collect();
            let places = Tensor::from_slice(&[count, depth], &indices)?;
            let shape = [sizes, &[ROW]].concat();
            let length: usize = shape.iter().product();
            let data: Vec<f32> = (0..length).map(|number| number as f32 - 7.5).collect();
            let x = Tensor::from_slice(&shape, &data)?;
            let new: Vec<f32> = (0..count * ROW).map(|number| (number % 64) as f32).collect();
            let updates = Tensor::from_slice(&[count, ROW], &new)?;

            let mut gathered = vec![0.0; count * ROW];
            let (mut put, mut added) = (data.clone(), data.clone());
            for (number, row) in rows.iter().enumerate().filter_map(|(number, row)| Some((number, (*row)?))) {
                for lane in 0..ROW {
                    let (from, to) = (number * ROW + lane, row * ROW + lane);
                    gathered[from] = data[to];
                    put[to] = new[from];
                    added[to] += new[from];
                }
            }
            let types = r#"attr { key: "Tindices" value { type: DT_INT64 } }
                attr { key: "Tparams" value { type: DT_FLOAT } }"#;
            let text = node("GatherNd", &[("x", "DT_FLOAT"), ("i", "DT_INT64")], types);
            for y in run(&text, &[&x, &places])? {
                assert_eq!(y, Tensor::from_slice(&[count, ROW], &gathered)?);
            }
            let types = r#"attr { key: "Tindices" value { type: DT_INT64 } }
                attr { key: "T" value { type: DT_FLOAT } }"#;
            for (op, expected) in [("TensorScatterUpdate", &put), ("TensorScatterAdd", &added)] {
                let text = node(op, &[("x", "DT_FLOAT"), ("i", "DT_INT64"), ("u", "DT_FLOAT")], types);
                for y in run(&text, &[&x, &places, &updates])? {
                    assert_eq!(y, Tensor::from_slice(&shape, expected)?, "{op}");
                }
            }
        }
    }
    Ok(())
}

/// A graph that is imported and exported again keeps its `bad_indices_policy`.
#[test]
fn an_export_keeps_the_policy() -> Result<()> {
    let types = r#"attr { key: "Tindices" value { type: DT_INT64 } }
        attr { key: "Tparams" value { type: DT_FLOAT } }"#;
    let text = node("GatherNd", &[("x", "DT_FLOAT"), ("i", "DT_INT64")], types);
    let imported = Model::from_text(&text)?.import(None, &ImportOptions::new())?;
    let again = to_pbtxt(imported.graph(), &[imported.value("y")?])?;
    let (x, places) = (Tensor::from([1.0f32, 2.0]), Tensor::from([[1i64], [2]]));
    assert_eq!(run(&again, &[&x, &places])?[0], Tensor::from([2.0f32, 0.0]));
    Ok(())
}

//! `scan` and `map`: their outputs, their sizes, and loops over no rows.

use shapeflow::{DType, Graph, RaggedValue, Result, Tensor, concat, shape};

use crate::control::{f32s, run};

#[test]
fn scans_stack_their_outputs() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let k = g.input("k", DType::F32, shape![?])?;
    let zero = (x.reduce_sum(0)? * 0.0).ok()?;
    let (last, sums) = g.scan(&[zero], &[x, k], |s, x| {
        let sum = (s[0] + x[0] * x[1]).ok()?;
        Ok((vec![sum], vec![sum, x[1], sum.reduce_sum(0)?.greater(3.0)?]))
    })?;
    let shapes: Vec<String> = last.iter().chain(&sums).map(|value| value.shape().to_string()).collect();
    assert_eq!(shapes, ["[m]", "[n, m]", "[n]", "[n]"]);
    for n in 0..4usize {
        let data: Vec<f32> = (0..n * 2).map(|i| i as f32).collect();
        let k: Vec<f32> = (0..n).map(|i| 1.0 + i as f32).collect();
        let feeds = [f32s(&[n, 2], &data), f32s(&[n], &k)];
        let results = run(&g, &[last[0], sums[0], sums[1], sums[2]], &feeds)?;
        let (mut sum, mut stacked, mut flags) = ([0.0f32; 2], Vec::new(), Vec::new());
        for i in 0..n {
            sum = [sum[0] + data[2 * i] * k[i], sum[1] + data[2 * i + 1] * k[i]];
            stacked.extend(sum);
            flags.push(sum[0] + sum[1] > 3.0);
        }
        assert_eq!(results[0], f32s(&[2], &sum));
        assert_eq!(results[1], f32s(&[n, 2], &stacked));
        assert_eq!(results[2], f32s(&[n], &k));
        assert_eq!(results[3].to_vec::<bool>()?, flags);
    }
    let error = run(&g, &[last[0]], &[f32s(&[2, 1], &[0.0; 2]), f32s(&[3], &[0.0; 3])]).unwrap_err();
    assert!(error.message().contains("2 and 3"), "{error}");
    Ok(())
}

#[test]
fn a_scan_over_no_rows_has_the_sizes_of_its_first_iteration() -> Result<()> {
    let g = Graph::new();
    let s = g.input("s", DType::F32, shape![?])?;
    let x = g.input("x", DType::F32, shape![?, ?])?;
    let (_, sums) = g.scan(&[s], &[x], |s, x| {
        let sum = s[0].add(x[0])?;
        let found = sum.greater(0.0)?.where_indices()?;
        Ok((vec![sum], vec![sum, concat(&[sum, x[0]], 0)?, found]))
    })?;
    assert_eq!(sums[0].shape().to_string(), "[?, ?]");
    let splits = g.range(0, x.dim(0)? + 1, 1)?;
    let mapped = RaggedValue::from_row_splits(x, splits)?.map_rows(|row| concat(&[row.dense()?; 2], 1))?;
    let outputs = [sums[0], sums[1], sums[2], mapped.flat_values()];
    for rows in [0, 2] {
        let feeds = [f32s(&[3], &[1.0; 3]), f32s(&[rows, 3], &vec![1.0; rows * 3])];
        let results = run(&g, &outputs, &feeds)?;
        let sizes: Vec<&[usize]> = results.iter().map(Tensor::sizes).collect();
        // The number of positions depends on data.
        let found = if rows == 0 { 0 } else { 3 };
        assert_eq!(sizes, [&[rows, 3][..], &[rows, 6], &[rows, found, 1], &[rows, 6]]);
    }
    // A body that refuses the sizes does not run.
    let results = run(&g, &outputs[..1], &[f32s(&[3], &[1.0; 3]), f32s(&[0, 2], &[])])?;
    assert_eq!(results[0].sizes(), [0, 0]);
    Ok(())
}

#[test]
fn map_keeps_the_number_of_rows() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape!["n", 3])?;
    let y = g.map(&[x], |x| Ok([x[0].reduce_max(0)?, (x[0] * 2).ok()?]))?;
    assert_eq!((y[0].shape().to_string(), y[1].shape().to_string()), ("[n]".into(), "[n, 3]".into()));
    let x = Tensor::from_slice(&[2, 3], &[1, 5, 2, 9, 0, 3])?;
    let results = run(&g, &y, &[x])?;
    assert_eq!(results[0].to_vec::<i32>()?, [5, 9]);
    assert_eq!(results[1].to_vec::<i32>()?, [2, 10, 4, 18, 0, 6]);
    assert_eq!(run(&g, &y, &[Tensor::zeros(DType::I32, &[0, 3])?])?[1].sizes(), [0, 3]);
    Ok(())
}

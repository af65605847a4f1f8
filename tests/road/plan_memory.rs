//! Plans of many sizes: a loop over lengths finds them again, and their memory is bounded.

use shapeflow::{CompileOptions, DType, Graph, Result, Tensor, shape};

/// Runs a graph once for each length, and returns the runs that made a plan.
fn misses(options: &CompileOptions, lengths: impl Iterator<Item = usize>) -> Result<u64> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile_with(options, (x * 2.0 + 1.0).exp()?.reduce_sum(0)?)?;
    for length in lengths {
        let x = Tensor::zeros(DType::F32, &[length])?;
        let [sum] = exe.run(&[x.view()])?;
        let expected = 1.0f32.exp() * length as f32;
        assert!((sum.item::<f32>()? - expected).abs() <= 1e-5 * expected, "n = {length}");
    }
    Ok(exe.stats().plan_misses)
}

#[test]
fn a_loop_over_200_lengths_makes_each_plan_once() -> Result<()> {
    let lengths = || (0..3).flat_map(|_| 0..200);
    assert_eq!(misses(&CompileOptions::new(), lengths())?, 200);
    // Without room for all, a loop in the same order never finds a plan.
    assert_eq!(misses(&CompileOptions::new().plan_memory(50_000), lengths())?, 600);
    assert_eq!(misses(&CompileOptions::new().plan_memory(0), [5, 5, 6, 6, 5].into_iter())?, 3);
    Ok(())
}

#[test]
fn the_least_recently_used_plan_is_made_again() -> Result<()> {
    // The length 7 is used every other time, so its plan stays.
    let lengths = (0..400).flat_map(|length| [7, 1000 + length]);
    assert_eq!(misses(&CompileOptions::new().plan_memory(50_000), lengths)?, 401);
    Ok(())
}

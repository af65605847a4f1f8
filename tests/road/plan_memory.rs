//! Plans of many sizes: a loop over lengths finds its plans again, and the memory of plans is bounded.

use shapeflow::{CompileOptions, DType, Graph, Result, Tensor, TensorView, shape};

use crate::env_vars;
use crate::memory::live_bytes;

/// Runs a graph once for each length, and returns the number of runs that made a plan.
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
    // Without memory for all plans, a loop in the same order never finds a plan.
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

#[test]
fn the_plan_of_a_step_holds_the_sizes_of_this_step_only() -> Result<()> {
    let g = Graph::new();
    let mut x = g.input("x", DType::F32, shape!["n"])?;
    for number in 0..100 {
        // Only the data tell how many elements remain, so a new plan begins here.
        x = x.boolean_mask(x.greater(number as f32)?, 0)?;
    }
    let exe = g.compile(x)?;
    let numbers: Vec<f32> = (0..108).map(|number| number as f32).collect();
    let pass = || -> Result<u64> {
        for n in 101..109 {
            let [x] = exe.run(&[TensorView::new(&[n], &numbers[..n])?])?;
            assert_eq!(x.to_vec::<f32>()?, numbers[100..n]);
        }
        Ok(exe.stats().plan_misses)
    };
    // 4 MiB hold all plans of this program, but would not if each plan had the sizes of every buffer.
    let made = pass()?;
    assert_eq!(pass()?, made);
    Ok(())
}

/// Plans every pair of sizes once: 20,000 pairs, or `SHAPEFLOW_SIZES` of them.
#[test]
fn memory_stays_flat_over_any_number_of_sizes() -> Result<()> {
    const MOST: usize = 1000;
    let count: usize = env_vars::number("SHAPEFLOW_SIZES").unwrap_or(20_000).min(MOST * MOST);
    let g = Graph::new();
    let [x, y] = [g.input("x", DType::F32, shape!["n"])?, g.input("y", DType::F32, shape!["m"])?];
    let sums = (x * 2.0).reduce_sum(0)? + (y + 1.0).reduce_sum(0)?;
    let exe = g.compile_with(&CompileOptions::new().plan_memory(1 << 20), sums.ok()?)?;
    let ones = [1.0f32; MOST];
    let (mut half, start) = (0, std::time::Instant::now());
    for number in 0..count {
        let (n, m) = (number % MOST, number / MOST);
        let [sum] = exe.run(&[TensorView::new(&[n], &ones[..n])?, TensorView::new(&[m], &ones[..m])?])?;
        assert_eq!(sum.item::<f32>()?, (2 * n + 2 * m) as f32);
        if number == count / 2 {
            half = live_bytes();
        }
    }
    let growth = live_bytes() - half;
    println!("{count} sizes in {:?}: memory grew by {growth} bytes in the second half", start.elapsed());
    assert_eq!(exe.stats().plan_misses, count as u64);
    assert!(growth.abs() < 64 << 10, "memory grew by {growth} bytes");
    Ok(())
}

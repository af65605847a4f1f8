//! Random numbers: laws of their streams, and moments of their distributions.

use shapeflow::{DType, Graph, Result, Tensor, Value};

fn numbers(build: impl for<'g> Fn(Value<'g>) -> Result<Value<'g>>) -> Tensor {
    let g = Graph::new();
    let seed = g.constant([3i64, -4]).unwrap();
    let [y] = g.compile(build(seed).unwrap()).unwrap().run(&[]).unwrap();
    y
}

fn floats(build: impl for<'g> Fn(Value<'g>) -> Result<Value<'g>>) -> Vec<f64> {
    numbers(|seed| build(seed)?.cast(DType::F64)).to_vec::<f64>().unwrap()
}

fn mean(values: &[f64], power: i32) -> f64 {
    values.iter().map(|value| value.powi(power)).sum::<f64>() / values.len() as f64
}

#[test]
fn floats_have_the_moments_of_their_distributions() {
    const COUNT: i64 = 100_000;
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        // A uniform number is a float of [1, 2) minus 1. The mean of these floats is less than 1.5 by half of their
        // distance: 1/256 for bf16, 1/2048 for f16, and less for f32 and f64.
        let step = if dtype == DType::BF16 { 1.0 / 256.0 } else { 1.0 / 2048.0 };
        let uniform = floats(|seed| seed.random_uniform([COUNT], dtype));
        assert!(uniform.iter().all(|x| (0.0..1.0).contains(x)));
        assert!((mean(&uniform, 1) - 0.5).abs() < 0.005 + step, "{dtype} {}", mean(&uniform, 1));
        assert!((mean(&uniform, 2) - 1.0 / 3.0).abs() < 0.005 + step);
        let normal = floats(|seed| seed.random_normal([COUNT], dtype));
        assert!(mean(&normal, 1).abs() < 0.02 && (mean(&normal, 2) - 1.0).abs() < 0.03, "{dtype}");
        assert!((mean(&normal, 4) - 3.0).abs() < 0.2, "{dtype}");
        let truncated = floats(|seed| seed.random_truncated_normal([COUNT], dtype));
        assert!(truncated.iter().all(|x| x.abs() <= 2.0));
        // The variance of the standard normal distribution between -2 and 2 is 0.7737.
        assert!(mean(&truncated, 1).abs() < 0.02 && (mean(&truncated, 2) - 0.7737).abs() < 0.02, "{dtype}");
    }
}

#[test]
fn integers_are_equally_likely() {
    let dice = numbers(|seed| {
        let g = seed.graph();
        seed.random_int([60_000], g.constant(-2i64)?, g.constant(4i64)?)
    });
    let mut counts = [0; 6];
    for points in dice.to_vec::<i64>().unwrap() {
        counts[(points + 2) as usize] += 1;
    }
    assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    let bits = numbers(|seed| seed.random_bits([1000], DType::U64)).to_vec::<u64>().unwrap();
    let ones: u32 = bits.iter().map(|bits| bits.count_ones()).sum();
    assert!((31_000..33_000).contains(&ones), "{ones}");
}

#[test]
fn samples_have_the_moments_of_their_distributions() {
    const COUNT: i64 = 50_000;
    // Compares the mean and the variance of samples with those of their distribution.
    let check = |samples: &[f64], average: f64, variance: f64, case: String| {
        let (first, second) = (mean(samples, 1), mean(samples, 2));
        let error = 5.0 * (variance / samples.len() as f64).sqrt();
        assert!((first - average).abs() <= error, "{case}: {first}");
        let spread = second - first * first;
        assert!((spread - variance).abs() <= 0.06 * variance, "{case}: {spread}");
    };
    for alpha in [0.3, 1.0, 2.5, 40.0] {
        let samples = floats(|seed| seed.random_gamma([COUNT], seed.graph().constant(alpha)?));
        assert!(samples.iter().all(|x| *x >= 0.0));
        check(&samples, alpha, alpha, format!("gamma {alpha}"));
    }
    for rate in [0.0, 0.5, 9.0, 10.0, 90.0] {
        let samples = floats(|seed| seed.random_poisson([COUNT], seed.graph().constant(rate)?, DType::I32));
        check(&samples, rate, rate, format!("poisson {rate}"));
    }
    for (trials, p) in [(5.0, 0.5), (9.0, 0.9), (100.0, 0.25), (400.0, 0.75), (7.0, 0.0), (7.0, 1.0)] {
        let samples = floats(|seed| {
            let g = seed.graph();
            seed.random_binomial([COUNT], g.constant(trials)?, g.constant(p)?, DType::I64)
        });
        assert!(samples.iter().all(|x| (0.0..=trials).contains(x)));
        check(&samples, trials * p, trials * p * (1.0 - p), format!("binomial {trials} {p}"));
    }
}

/// Returns the mean and the variance of a normal distribution between bounds, by sums over a fine grid.
fn truncated_moments(average: f64, deviation: f64, low: f64, high: f64) -> (f64, f64) {
    let ends = [low, high].map(|end| end.clamp(average - 12.0 * deviation, average + 12.0 * deviation));
    let (mut sums, steps) = ([0.0; 3], 200_000);
    for step in 0..steps {
        let x = ends[0] + (ends[1] - ends[0]) * (f64::from(step) + 0.5) / f64::from(steps);
        let density = (-0.5 * ((x - average) / deviation).powi(2)).exp();
        (0..3).for_each(|power| sums[power] += density * x.powi(power as i32));
    }
    let first = sums[1] / sums[0];
    (first, sums[2] / sums[0] - first * first)
}

#[test]
fn normal_numbers_between_bounds_have_the_moments_of_their_distribution() {
    const COUNT: i64 = 50_000;
    let infinity = f64::INFINITY;
    // The bounds lead to every method of rejection sampling: normal, uniform and exponential proposals, on both sides
    // of the mean.
    for (low, high) in
        [(-2.0, 3.0), (0.5, 1.0), (-0.75, -0.25), (2.0, infinity), (-infinity, -1.5), (1.5, 9.0)]
    {
        for dtype in [DType::F32, DType::F64] {
            let (average, deviation) = (0.25, 0.5);
            let samples = floats(|seed| {
                let [average, deviation, low, high] = [average, deviation, low, high]
                    .map(|parameter: f64| seed.graph().constant(parameter)?.cast(dtype));
                seed.random_parameterized_truncated_normal([COUNT], average?, deviation?, low?, high?)
            });
            assert!(samples.iter().all(|x| (low..=high).contains(x)), "{dtype} {low} {high}");
            let (expected, variance) = truncated_moments(average, deviation, low, high);
            let (first, second) = (mean(&samples, 1), mean(&samples, 2));
            let error = 5.0 * (variance / samples.len() as f64).sqrt();
            assert!((first - expected).abs() <= error, "{low} {high}: {first}, not {expected}");
            let spread = second - first * first;
            assert!((spread - variance).abs() <= 0.06 * variance, "{low} {high}: {spread}, not {variance}");
        }
    }
}

#[test]
fn classes_have_the_frequencies_of_their_logits() {
    let classes = numbers(|seed| {
        let logits = seed.graph().constant([[1.0f32, 2.0, 5.0, 0.0], [9.0, 9.0, 9.0, 9.0]])?.log()?;
        seed.random_categorical(logits, 40_000)
    });
    let classes = classes.to_vec::<i64>().unwrap();
    for (row, expected) in [[5_000, 10_000, 25_000, 0], [10_000; 4]].into_iter().enumerate() {
        let mut counts = [0; 4];
        classes[row * 40_000..(row + 1) * 40_000].iter().for_each(|class| counts[*class as usize] += 1);
        let is_close = |(got, expected): (&i64, i64)| (got - expected).abs() <= expected / 25;
        assert!(counts.iter().zip(expected).all(is_close), "{counts:?}");
    }
}

#[test]
fn a_shuffle_keeps_rows() {
    let rows = numbers(|seed| seed.random_shuffle(seed.graph().constant([[1, 2], [3, 4], [5, 6]])?));
    let mut rows: Vec<Vec<i32>> = rows.to_vec::<i32>().unwrap().chunks(2).map(<[i32]>::to_vec).collect();
    rows.sort();
    assert_eq!(rows, [[1, 2], [3, 4], [5, 6]]);
}

#[test]
fn a_shorter_result_is_a_prefix_of_a_longer_one() {
    for dtype in [DType::F32, DType::F64] {
        let all = floats(|seed| seed.random_truncated_normal([10, 3], dtype));
        for count in [0, 1, 5, 29] {
            assert_eq!(floats(|seed| seed.random_truncated_normal([count as i64], dtype)), all[..count]);
        }
        let all = floats(|seed| seed.random_normal([30], dtype));
        assert_eq!(floats(|seed| seed.random_normal([7], dtype)), all[..7]);
    }
    let first = numbers(|seed| seed.random_uniform([4], DType::F32));
    let other = numbers(|seed| (seed + 1).random_uniform([4], DType::F32));
    assert_ne!(first, other);
}

#[test]
fn wrong_seeds_and_bounds_are_refused() -> Result<()> {
    let refused = |build: fn(&Graph) -> Result<Value<'_>>| {
        let g = Graph::new();
        let run = build(&g).and_then(|y| g.compile(y)?.run_all(&[]));
        run.unwrap_err().message().to_string()
    };
    let short = refused(|g| g.constant([1i64])?.random_uniform([2], DType::F32));
    assert!(short.contains("seed must have 2 elements, got 1"), "{short}");
    let empty = refused(|g| g.constant([1i64, 2])?.random_int([2], g.constant(5i32)?, g.constant(5i32)?));
    assert!(empty.contains("the lower bound must be less than the upper bound, got 5 and 5"), "{empty}");
    let g = Graph::new();
    let none = g.constant([1i64, 2])?.random_int([0], g.constant(5i32)?, g.constant(5i32)?)?;
    let [none] = g.compile(none)?.run(&[])?;
    assert_eq!(none.sizes(), [0]);
    let integer = refused(|g| g.constant([1i64, 2])?.random_normal([2], DType::I32));
    assert!(integer.contains("dtype must be f16, bf16, f32 or f64, got i32"), "{integer}");
    let negative = refused(|g| g.constant([1i64, 2])?.random_gamma([1], g.constant([-1.0])?));
    assert!(negative.contains("alpha must be at least 0, got -1"), "{negative}");
    let other = refused(|g| g.constant([1i64, 2])?.random_gamma([3], g.constant([1.0, 2.0])?));
    assert!(other.contains("the shape must end with the sizes of the parameters, [2], got [3]"), "{other}");
    let large = refused(|g| g.constant([1i64, 2])?.random_poisson([0i64; 0], g.constant(1e20)?, DType::I32));
    assert!(large.contains("a rate must be at most 2147483647.0, got 100000000000000000000"), "{large}");
    let endless = refused(|g| {
        g.constant([1i64, 2])?.random_binomial(
            [0i64; 0],
            g.constant(f64::INFINITY)?,
            g.constant(0.5)?,
            DType::F32,
        )
    });
    assert!(endless.contains("a number of trials must be finite, got inf"), "{endless}");
    let float = refused(|g| g.constant([1.0f32, 2.0])?.random_normal([2], DType::F32));
    assert!(!float.is_empty());
    Ok(())
}

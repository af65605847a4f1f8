//! Complex, quantized, 8-bit float and 4-bit integer elements, against loops that share no code with the crate.

use num_complex::{Complex, Complex32};
use shapeflow::{
    Axes, Backend, CompileOptions, DType, Graph, Result, Tensor, TensorView, TensorViewMut, Value, concat,
    shape,
};

use crate::rng::Rng;
use crate::tensor_compare::{float8_value, nearest_float8};

const SIZES: [usize; 7] = [0, 1, 2, 7, 33, 260, 4099];

fn random(rng: &mut Rng, count: usize) -> Vec<Complex32> {
    let mut part = || (rng.unit_f64() * 4.0 - 2.0) as f32;
    (0..count).map(|_| Complex::new(part(), part())).collect()
}

fn tensor(sizes: &[usize], numbers: &[Complex32]) -> Tensor {
    let parts: Vec<f32> = numbers.iter().flat_map(|z| [z.re, z.im]).collect();
    Tensor::from_bits(DType::C64, sizes, &parts).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<Complex32> {
    let parts = tensor.to_bits::<f32>().unwrap();
    parts.chunks_exact(2).map(|z| Complex::new(z[0], z[1])).collect()
}

/// Checks `got` against what `expected` gives for each position.
#[track_caller]
fn check(got: &Tensor, expected: impl Fn(usize) -> Complex32) {
    for (position, got) in numbers(got).into_iter().enumerate() {
        let expected = expected(position);
        assert!(
            (got - expected).norm() <= 2e-5 * (1.0 + expected.norm()),
            "{position}: {got} is not {expected}"
        );
    }
}

/// Runs a graph on both backends, which must agree.
#[track_caller]
fn run<'g>(graph: &'g Graph, outputs: &[Value<'g>], feeds: &[&Tensor]) -> Vec<Tensor> {
    let views: Vec<TensorView<'_>> = feeds.iter().map(|feed| feed.view()).collect();
    let interpreter = CompileOptions::new().backend(Backend::Interpreter);
    let got = graph.compile(outputs).unwrap().run_all(&views).unwrap();
    let expected = graph.compile_with(&interpreter, outputs).unwrap().run_all(&views).unwrap();
    for (got, expected) in got.iter().zip(&expected) {
        // The order of a sum may differ.
        got.allclose(expected, 1e-5, 1e-4).unwrap();
    }
    got
}

#[test]
fn elementwise_chains_fuse_and_agree_with_complex_arithmetic() -> Result<()> {
    let graph = Graph::new();
    let [a, b] = ["a", "b"].map(|name| graph.input(name, DType::C64, shape!["n"]).unwrap());
    let outputs = [
        (a * b + a).conj()? - b * 0.5,
        a / b,
        a.exp()?.sub(b.sqrt()?)?,
        a.real()?.greater(0.0)?.select(a, b)?,
        a.imag()?.complex(b.real()?)?,
    ];
    let exe = graph.compile(outputs[0])?;
    assert_eq!(exe.stats().kernels, 1, "{}", exe.kernels());
    let mut rng = Rng::new(11);
    for n in SIZES {
        let (x, y) = (random(&mut rng, n), random(&mut rng, n));
        let got = run(&graph, &outputs, &[&tensor(&[n], &x), &tensor(&[n], &y)]);
        check(&got[0], |i| (x[i] * y[i] + x[i]).conj() - y[i] * 0.5);
        check(&got[1], |i| x[i] / y[i]);
        check(&got[2], |i| x[i].exp() - y[i].sqrt());
        check(&got[3], |i| if x[i].re > 0.0 { x[i] } else { y[i] });
        check(&got[4], |i| Complex::new(x[i].im, y[i].re));
    }
    Ok(())
}

#[test]
fn complex_matrices_move_reduce_and_multiply() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::C64, shape!["n", "m"])?;
    let y = graph.input("y", DType::C64, shape!["m", 3])?;
    let index = graph.constant([1i32, 0, 1])?;
    let outputs = [
        x.t()?,
        x.conjugate_transpose([1, 0])? * 2.0,
        x.reduce_sum(1)?,
        (x * x.conj()?).real()?.reduce_sum(Axes::all())?.cast(DType::C64)?,
        x.reduce_prod(0)?,
        x.matmul(y)?,
        concat(&[x, x * 2.0], 0)?.reverse([1])?,
        x.pad([1, 0, 0, 2])? + x.pad([0, 1, 1, 1])?,
        (y * 1.0).reshape([-1])?,
        x.reduce_mean(Axes::of(0).keep_dims())? - x,
        y.gather(index, 1)?,
        -y.gather(index, 1)?,
    ];
    let mut rng = Rng::new(12);
    for (n, m) in [(2, 3), (1, 1), (5, 40), (33, 7), (3, 300)] {
        let (a, b) = (random(&mut rng, n * m), random(&mut rng, m * 3));
        let scale = |z: Complex32| z / z.norm();
        let a: Vec<Complex32> = if n > 3 { a.into_iter().map(scale).collect() } else { a };
        let got = run(&graph, &outputs, &[&tensor(&[n, m], &a), &tensor(&[m, 3], &b)]);
        let at = |i: usize, j: usize| a[i * m + j];
        check(&got[0], |k| at(k % n, k / n));
        check(&got[1], |k| at(k % n, k / n).conj() * 2.0);
        check(&got[2], |i| (0..m).map(|j| at(i, j)).sum());
        check(&got[3], |_| a.iter().map(|z| Complex::from(z.norm_sqr())).sum());
        check(&got[4], |j| (0..n).map(|i| at(i, j)).product());
        check(&got[5], |k| (0..m).map(|j| at(k / 3, j) * b[j * 3 + k % 3]).sum());
        check(&got[6], |k| at(k / m % n, m - 1 - k % m) * if k / m < n { 1.0 } else { 2.0 });
        let padded = |i: usize, j: usize, top: usize, left: usize| {
            let inside = (top..top + n).contains(&i) && (left..left + m).contains(&j);
            if inside { at(i - top, j - left) } else { Complex::default() }
        };
        check(&got[7], |k| {
            let (i, j) = (k / (m + 2), k % (m + 2));
            padded(i, j, 1, 0) + padded(i, j, 0, 1)
        });
        check(&got[8], |k| b[k]);
        check(&got[9], |k| (0..n).map(|i| at(i, k % m)).sum::<Complex32>() / n as f32 - a[k]);
        check(&got[10], |k| b[k / 3 * 3 + [1, 0, 1][k % 3]]);
        check(&got[11], |k| -b[k / 3 * 3 + [1, 0, 1][k % 3]]);
    }
    Ok(())
}

#[test]
fn a_chain_of_complex_results_reuses_memory_and_keeps_its_operands() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::C128, shape!["n"])?;
    // A reduction between the links keeps them apart.
    let first = x * x;
    let second = first - first.reduce_sum(0)?;
    let third = second * second.reduce_mean(0)? + 1.0;
    let exe = graph.compile(third)?;
    for n in [1usize, 9, 1000] {
        let parts: Vec<f64> = (0..2 * n).map(|k| (k % 7) as f64 - 3.0).collect();
        let feed = Tensor::from_bits(DType::C128, &[n], &parts)?;
        let z: Vec<Complex<f64>> = parts.chunks_exact(2).map(|z| Complex::new(z[0], z[1])).collect();
        let first: Vec<Complex<f64>> = z.iter().map(|z| z * z).collect();
        let sum: Complex<f64> = first.iter().sum();
        let second: Vec<Complex<f64>> = first.iter().map(|z| z - sum).collect();
        let mean = second.iter().sum::<Complex<f64>>() / n as f64;
        let mut out = Tensor::zeros(DType::C128, &[n])?;
        let mut runner = exe.runner();
        for _ in 0..2 {
            let memory: &mut [TensorViewMut<'_>] = &mut [out.view_mut()?];
            runner.run_into(&[feed.view()], memory)?;
            for (got, second) in out.to_bits::<f64>()?.chunks_exact(2).zip(&second) {
                let expected = second * mean + 1.0;
                assert!((Complex::new(got[0], got[1]) - expected).norm() <= 1e-12 * (1.0 + expected.norm()));
            }
        }
        assert_eq!(feed.to_bits::<f64>()?, parts);
    }
    Ok(())
}

#[test]
fn elements_without_arithmetic_move_and_convert() -> Result<()> {
    for dtype in [DType::F8E5M2, DType::F8E4M3FN] {
        let graph = Graph::new();
        let x = graph.input("x", dtype, shape!["n", 16])?;
        let y = graph.input("y", DType::F32, shape!["m"])?;
        let outputs = [x.t()?, x.cast(DType::F32)?, y.cast(dtype)?, x.pad([1, 0, 0, 0])?];
        let every: Vec<u8> = (0..=255).collect();
        let wide: Vec<f32> = (0..1000).map(|k| (k as f32 - 500.0) * 0.37).collect();
        let feeds = [Tensor::from_bits(dtype, &[16, 16], &every)?, Tensor::from_slice(&[1000], &wide)?];
        let got = run(&graph, &outputs, &[&feeds[0], &feeds[1]]);
        let turned: Vec<u8> = (0..=255).map(|k: u8| k % 16 * 16 + k / 16).collect();
        assert_eq!(got[0].to_bits::<u8>()?, turned);
        for (bits, value) in got[1].to_vec::<f32>()?.into_iter().enumerate() {
            let expected = float8_value(dtype, bits as u8) as f32;
            assert!(value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan());
        }
        for (bits, x) in got[2].to_bits::<u8>()?.into_iter().zip(&wide) {
            // The rounding is to nearest; recorded values hold ties.
            let (got, near) =
                (float8_value(dtype, bits), float8_value(dtype, nearest_float8(dtype, f64::from(*x))));
            assert_eq!((got - f64::from(*x)).abs(), (near - f64::from(*x)).abs(), "{x}");
        }
        assert_eq!(got[3].to_bits::<u8>()?[..16], [0; 16]);
        assert_eq!(got[3].to_bits::<u8>()?[16..], every);
    }
    let graph = Graph::new();
    let x = graph.input("x", DType::QU8, shape!["n"])?;
    let small = graph.input("small", DType::I4, shape![16])?;
    let outputs =
        [x.reverse([0])?, x.cast(DType::I32)? * 3, x.equal(x.reverse([0])?)?, small.cast(DType::U4)?];
    let bytes = [3u8, 255, 0, 255, 7];
    let feeds = [
        Tensor::from_bits(DType::QU8, &[5], &bytes)?,
        Tensor::from_bits(DType::I4, &[16], &(-8..8).collect::<Vec<i8>>())?,
    ];
    let got = run(&graph, &outputs, &[&feeds[0], &feeds[1]]);
    assert_eq!((got[0].dtype(), got[0].to_bits::<u8>()?), (DType::QU8, vec![7, 255, 0, 255, 3]));
    assert_eq!(got[1].to_vec::<i32>()?, [9, 765, 0, 765, 21]);
    assert_eq!(got[2].to_vec::<bool>()?, [false, true, true, true, false]);
    assert_eq!(got[3].to_bits::<u8>()?, (8..16).chain(0..8).collect::<Vec<u8>>());
    Ok(())
}

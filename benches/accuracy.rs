//! Measures the errors of mathematical functions in kernels, and compares them with the bounds in the ops'
//! documentation.
//!
//! `cargo bench --bench accuracy` prints one line per function: the largest and the mean error in units in the last
//! place (ulp). The f32 arguments have every exponent and are dense around 1. The reference for f32 is the f64 kernel;
//! for `sin`, `cos` and `tan` it is the standard library, which is precise for arguments of any size. The reference for
//! f64 is a table that was computed with 400 bits. The bench fails if an error exceeds its bound.
//!
//! `cargo bench --bench accuracy -- every exp log` checks all 2³² f32 arguments of the named functions, or of all
//! functions of one argument if none is named. Each function takes about half a minute.

use std::collections::BTreeMap;

use shapeflow::{Element, Graph, Isa, Result, Runner, TensorView, TensorViewMut, Value, shape};

/// Builds a function of one or two arguments.
type Build = for<'g> fn(Value<'g>, Value<'g>) -> Result<Value<'g>>;

macro_rules! functions {
    ($($name:ident)*) => { [$((stringify!($name), |x, _| x.$name())),*] };
}

const UNARY: [(&str, Build); 23] = functions! {
    exp exp2 expm1 log log2 log1p sin cos tan tanh sigmoid sinh cosh erf erfc asin acos atan asinh acosh atanh cbrt
    rsqrt
};
const BINARY: [(&str, Build); 2] = [("pow", |x, y| x.pow(y)), ("atan2", |x, y| x.atan2(y))];

/// The largest error in ulp, and the sum and the number of all errors.
#[derive(Default)]
struct Errors {
    largest: f64,
    sum: f64,
    count: f64,
}

impl Errors {
    fn add(&mut self, error: f64) {
        self.largest = self.largest.max(error);
        self.sum += error;
        self.count += 1.0;
    }
}

/// A function in f64.
type Reference = fn(f64) -> f64;

fn main() -> Result<()> {
    println!("errors in ulp; kernels for {}; stated: the bound in the op's documentation\n", Isa::of_host()?);
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if words.first().is_some_and(|word| word == "every") {
        return every(&words[1..]);
    }
    println!(
        "{:8} {:>8} {:>8} {:>8} {:>10} {:>8} {:>8}",
        "", "f32 max", "mean", "stated", "f64 max", "mean", "stated"
    );
    let (singles, pairs) = (unary_arguments(), binary_arguments());
    let table = f64_table();
    let mut exceeded = Vec::new();
    for (name, build) in UNARY.into_iter().chain(BINARY) {
        let is_binary = BINARY.iter().any(|(other, _)| *other == name);
        let (x, y) = if is_binary { &pairs } else { &singles };
        let reference = reference(name);
        let single = errors_in_f32(build, reference, x, y)?;
        let double = errors_in_f64(build, &table[name], reference.is_some())?;
        let stated = stated_bounds(name);
        for (errors, stated) in [&single, &double].into_iter().zip(stated) {
            if errors.largest > stated {
                exceeded.push(name);
            }
        }
        println!(
            "{name:8} {:8.3} {:8.3} {:8} {:10.3} {:8.3} {:8}",
            single.largest,
            single.sum / single.count,
            stated[0],
            double.largest,
            double.sum / double.count,
            stated[1]
        );
    }
    assert!(exceeded.is_empty(), "errors must not exceed the stated bounds, but do in {exceeded:?}");
    Ok(())
}

/// Returns the reference of a function whose f64 kernel is less precise for large arguments; `None` if the f64 kernel
/// is the reference.
fn reference(name: &str) -> Option<Reference> {
    let sines: [(&str, Reference); 3] = [("sin", f64::sin), ("cos", f64::cos), ("tan", f64::tan)];
    sines.iter().find(|(other, _)| *other == name).map(|(_, function)| *function)
}

/// Checks every f32 argument of the functions with these names, or of all unary functions if there are none.
fn every(names: &[String]) -> Result<()> {
    const PART: usize = 1 << 14;
    println!("{:8} {:>8} {:>8} {:>8}  over all f32", "", "f32 max", "mean", "stated");
    let mut exceeded = Vec::new();
    for (name, build) in
        UNARY.into_iter().filter(|(name, _)| names.is_empty() || names.contains(&(*name).into()))
    {
        let (mut single, mut double) = (compiled::<f32>(build)?, compiled::<f64>(build)?);
        let (reference, mut errors) = (reference(name), Errors::default());
        let (mut x, mut wide) = (vec![0f32; PART], vec![0f64; PART]);
        let (mut got, mut exact) = (x.clone(), wide.clone());
        for start in (0..=u32::MAX).step_by(PART) {
            for ((x, wide), bits) in x.iter_mut().zip(&mut wide).zip(start..) {
                *x = f32::from_bits(bits);
                *wide = f64::from(*x);
            }
            fill(&mut single, [&x, &x], &mut got)?;
            match reference {
                Some(reference) => exact.iter_mut().zip(&wide).for_each(|(y, x)| *y = reference(*x)),
                None => fill(&mut double, [&wide, &wide], &mut exact)?,
            }
            for (got, exact) in got.iter().zip(&exact) {
                errors.add(error_of_single(*got, *exact));
            }
        }
        let stated = stated_bounds(name)[0];
        if errors.largest > stated {
            exceeded.push(name);
        }
        println!("{name:8} {:8.3} {:8.3} {:8}", errors.largest, errors.sum / errors.count, stated);
    }
    assert!(exceeded.is_empty(), "errors must not exceed the stated bounds, but do in {exceeded:?}");
    Ok(())
}

/// Returns the error of `got` in ulp. A NaN has no error if `exact` is NaN. An infinity counts as the number one ulp
/// above `f32::MAX`.
fn error_of_single(got: f32, exact: f64) -> f64 {
    const LIMIT: f64 = f32::MAX as f64;
    match got {
        got if got.is_nan() || exact.is_nan() => {
            if got.is_nan() == exact.is_nan() {
                0.0
            } else {
                f64::INFINITY
            }
        }
        got if got.is_infinite() || exact.abs() > LIMIT => {
            let limit = LIMIT + ulp(LIMIT, 23, -126);
            let bounded = |value: f64| value.clamp(-limit, limit);
            (bounded(f64::from(got)) - bounded(exact)).abs() / ulp(LIMIT, 23, -126)
        }
        got => (f64::from(got) - exact).abs() / ulp(exact, 23, -126),
    }
}

fn compiled<T: Element>(build: Build) -> Result<Runner> {
    let g = Graph::new();
    let [x, y] = ["x", "y"].map(|name| g.input(name, T::DTYPE, shape!["n"]));
    Ok(g.compile(build(x?, y?)?)?.runner())
}

/// Runs a function on all elements of two tensors. A unary function ignores the second tensor.
fn fill<T: Element>(function: &mut Runner, arguments: [&[T]; 2], to: &mut [T]) -> Result<()> {
    let sizes = [to.len()];
    let [x, y] = arguments.map(|values| TensorView::new(&sizes, values));
    function.run_into(&[x?, y?], &mut [TensorViewMut::new(&sizes, to)?])
}

fn run<T: Element + Default>(build: Build, arguments: [&[T]; 2]) -> Result<Vec<T>> {
    let mut results = vec![T::default(); arguments[0].len()];
    fill(&mut compiled::<T>(build)?, arguments, &mut results)?;
    Ok(results)
}

/// Returns arguments of every exponent and both signs, denser from 1/16 to 16. The second list is not used.
fn unary_arguments() -> (Vec<f32>, Vec<f32>) {
    let everywhere = (0..0x7f80_0000u32).step_by(65_521);
    let dense = (0x3d80_0000..0x4180_0000u32).step_by(61);
    let x: Vec<f32> =
        everywhere.chain(dense).flat_map(|bits| [bits, bits | 1 << 31]).map(f32::from_bits).collect();
    let y = vec![0.0; x.len()];
    (x, y)
}

/// Returns bases of every exponent, and exponents for which the power is finite.
fn binary_arguments() -> (Vec<f32>, Vec<f32>) {
    let pair = |step: u32| {
        let x = f32::from_bits(1 + step.wrapping_mul(2_654_435_761) % 0x7f7f_ffff);
        let spread = step as f32 / 500_000.0 - 1.0;
        (x, spread * 100.0 / f64::from(x).log2().abs().max(1e-3) as f32)
    };
    (0..1_000_000).map(pair).unzip()
}

/// Measures the f32 kernel of a function. `reference` is the exact function, or else the f64 kernel is.
fn errors_in_f32(build: Build, reference: Option<Reference>, x: &[f32], y: &[f32]) -> Result<Errors> {
    let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
    let got = run(build, [x, y])?;
    let exact = match reference {
        Some(reference) => wide(x).into_iter().map(reference).collect(),
        None => run(build, [&wide(x), &wide(y)])?,
    };
    let mut errors = Errors::default();
    for (got, exact) in got.iter().zip(exact).filter(|(_, exact)| exact.abs() <= f64::from(f32::MAX)) {
        errors.add(error_of_single(*got, exact));
    }
    Ok(errors)
}

/// The two arguments, the f64 nearest to the exact result, and the exact result minus this f64, in ulp.
type Line = (f64, f64, f64, f64);

/// Reads the lines of `math_table.txt`, by function.
fn f64_table() -> BTreeMap<&'static str, Vec<Line>> {
    let mut table: BTreeMap<&str, Vec<Line>> = BTreeMap::new();
    for line in include_str!("../tests/reference/math_table.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let double = |word: &str| u64::from_str_radix(word, 16).map_or(f64::NAN, f64::from_bits);
        let (first, last) = (double(words[1]), words.len() - 2);
        let second = if last > 2 { double(words[2]) } else { 0.0 };
        let rest = words[last + 1].parse().unwrap_or(f64::NAN);
        table.entry(words[0]).or_default().push((first, second, double(words[last]), rest));
    }
    table
}

/// Measures the f64 kernel of a function. If `is_bounded`, arguments beyond 1e6 are left out.
fn errors_in_f64(build: Build, lines: &[Line], is_bounded: bool) -> Result<Errors> {
    let lines: Vec<&Line> = lines.iter().filter(|(x, ..)| !is_bounded || x.abs() <= 1e6).collect();
    let column = |field: fn(&Line) -> f64| lines.iter().map(|line| field(line)).collect::<Vec<_>>();
    let got = run(build, [&column(|line| line.0), &column(|line| line.1)])?;
    let mut errors = Errors::default();
    for (got, (.., nearest, rest)) in got.iter().zip(lines) {
        errors.add(((got - nearest) / ulp(*nearest, 52, -1022) - rest).abs());
    }
    Ok(errors)
}

/// Returns the unit in the last place of the float `value`, in a format with `fraction_bits` fraction bits and the
/// least normal exponent `least`.
fn ulp(value: f64, fraction_bits: i32, least: i32) -> f64 {
    let exponent = if value == 0.0 { least } else { (value.abs().to_bits() >> 52) as i32 - 1023 };
    match exponent.max(least) - fraction_bits {
        normal @ -1022.. => f64::from_bits(((normal + 1023) as u64) << 52),
        below => f64::from_bits(1 << (below + 1074)),
    }
}

/// Returns the bounds that the documentation of an op states, in ulp: for f32, and for f64.
///
/// The op is a row (`name, NAME: …`) or a method (`pub fn name(`) in a file of the folder of mathematical ops.
fn stated_bounds(name: &str) -> [f64; 2] {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/ops/math");
    let files = std::fs::read_dir(folder).expect("the sources stand beside the benchmarks");
    let texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    let [row, method] = [format!("    {name}, {}:", name.to_uppercase()), format!("pub fn {name}(")];
    let bounds = texts.into_iter().find_map(|text| {
        let end = text.find(&row).or_else(|| text.find(&method))?;
        let (_, bounds) = text[..end].rsplit_once("at most ")?;
        let number = |text: &str| text.split(' ').next()?.parse().ok();
        let (single, double) = bounds.split_once(" ulp in f32, ")?;
        Some([number(single)?, number(double.trim_start_matches("and "))?])
    });
    bounds.unwrap_or_else(|| panic!("the documentation of {name} states no bound"))
}

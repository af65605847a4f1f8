//! `fractional_max_pool`, `fractional_avg_pool`: pools whose windows divide an image into a fraction of its size.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext, TensorShape};

use super::fractional_windows::{Pooled, Windows, each_window, refuse, sizes_of, supported, with_dtype};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::random::philox::Philox;
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::{Tensor, TensorView};

/// How a fractional pool chooses its windows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FractionalPool {
    /// The ratio of an image's rows and columns to the rows and columns of the result, each at least 1.
    pub ratio: [f64; 2],
    /// The starts of the windows are multiples of the ratio, moved by one random number. Otherwise the sizes of the
    /// windows are shuffled.
    pub pseudo_random: bool,
    /// A window also has the first row and the first column of the next windows.
    pub overlapping: bool,
    /// The seeds of the random numbers.
    pub seeds: [i64; 2],
}

impl FractionalPool {
    /// Shuffled windows that do not overlap, from the seeds 1 and 0.
    pub fn new(ratio: [f64; 2]) -> FractionalPool {
        FractionalPool { ratio, pseudo_random: false, overlapping: false, seeds: [1, 0] }
    }
}

impl<'g> Value<'g> {
    /// Returns the largest element of each window of an image, and the starts of the windows along the rows and along
    /// the columns. The windows divide `h` rows into `floor(h / ratio[0])` runs of random lengths, which differ by at
    /// most 1, and the columns alike.
    ///
    /// `[n, h, w, c] -> [n, oh, ow, c], i64[oh + 1], i64[ow + 1]`, i32, i64, f32 or f64. The last entry of the starts
    /// is `h` or `w`. A NaN never counts as the largest. All images of a run, and all runs, have the same windows:
    /// those of the seeds. As TensorFlow's `FractionalMaxPool` with `deterministic` set, which takes other seeds for
    /// the seeds 0 and 0. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{FractionalPool, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[[1.0f32], [5.0], [3.0], [2.0], [4.0]]]])?;
    /// let [largest, rows, columns] = x.fractional_max_pool(FractionalPool::new([1.0, 2.5]))?;
    /// let [largest, rows, columns] = g.compile([largest, rows, columns])?.run(&[])?;
    /// assert_eq!(largest.to_vec::<f32>()?, [5.0, 4.0]);
    /// assert_eq!(rows.to_vec::<i64>()?, [0, 1]);
    /// assert!([[0, 2, 5], [0, 3, 5]].contains(&columns.to_vec::<i64>()?[..].try_into().unwrap()));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 4, the element type is not supported, or a ratio is below 1. The run fails if the result has no
    /// rows or columns.
    #[track_caller]
    pub fn fractional_max_pool(self, pool: FractionalPool) -> Result<[Value<'g>; 3]> {
        self.fractional_pool(&MAX, pool, Location::caller())
    }

    /// Returns the mean of each window of an image, and the starts of the windows along the rows and along the columns.
    /// The windows are those of [`Value::fractional_max_pool`].
    ///
    /// `[n, h, w, c] -> [n, oh, ow, c], i64[oh + 1], i64[ow + 1]`, i32, i64, f32 or f64. A mean of integers is rounded
    /// toward zero. As TensorFlow's `FractionalAvgPool` with `deterministic` set, which takes other seeds for the seeds
    /// 0 and 0. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{FractionalPool, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[[1.0f32], [5.0], [3.0], [2.0]]]])?;
    /// let [mean, _, columns] = x.fractional_avg_pool(FractionalPool::new([1.0, 2.0]))?;
    /// let [mean, columns] = g.compile([mean, columns])?.run(&[])?;
    /// assert_eq!(mean.to_vec::<f32>()?, [3.0, 2.5]);
    /// assert_eq!(columns.to_vec::<i64>()?, [0, 2, 4]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::fractional_max_pool`].
    #[track_caller]
    pub fn fractional_avg_pool(self, pool: FractionalPool) -> Result<[Value<'g>; 3]> {
        self.fractional_pool(&AVG, pool, Location::caller())
    }

    fn fractional_pool(
        self,
        def: &'static OpDef,
        pool: FractionalPool,
        location: &'static Location<'static>,
    ) -> Result<[Value<'g>; 3]> {
        let [rows, columns] = pool.ratio;
        let call = self.graph().op(def).data(self).attr("pooling_ratio", &[1.0, rows, columns, 1.0][..]);
        let call = call.attr("pseudo_random", pool.pseudo_random).attr("overlapping", pool.overlapping);
        let call = call.attr("deterministic", true);
        let call = call.attr("seed", pool.seeds[0]).attr("seed2", pool.seeds[1]);
        exactly(call.finish_all_at(location)?.into_vec())
    }
}

const ATTRIBUTES: &[Attribute] = &[
    Attribute::floats("pooling_ratio"),
    Attribute::bool_or("pseudo_random", false),
    Attribute::bool_or("overlapping", false),
    Attribute::bool_or("deterministic", false),
    Attribute::int_or("seed", 0),
    Attribute::int_or("seed2", 0),
];

pub(crate) static MAX: OpDef = OpDef::host("fractional_max_pool", |cx| pool(cx, true))
    .attrs(ATTRIBUTES)
    .operands(&[Operand::Data("value")])
    .outputs(|_, _| 3)
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("FractionalMaxPool")]);

pub(crate) static AVG: OpDef = OpDef::host("fractional_avg_pool", |cx| pool(cx, false))
    .attrs(ATTRIBUTES)
    .operands(&[Operand::Data("value")])
    .outputs(|_, _| 3)
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("FractionalAvgPool")]);

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let x = supported(dtypes, 1)?;
    let refuse = |message: String| Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    let ratios = attrs.floats("pooling_ratio");
    if let Some(ratio) = ratios.iter().find(|ratio| ratio.is_nan() || **ratio < 1.0) {
        return refuse(format!("pooling_ratio must be at least 1, got {ratio:?}"));
    }
    if ratios.len() == 4 && (ratios[0] != 1.0 || ratios[3] != 1.0) {
        return refuse(format!("pooling_ratio must be 1 for images and channels, got {ratios:?}"));
    }
    let seeds = [attrs.int("seed"), attrs.int("seed2")];
    if seeds != [0, 0] && !attrs.bool("deterministic") {
        return refuse(format!("seed and seed2 must be 0 if deterministic is false, got {seeds:?}"));
    }
    Ok(vec![x, DType::I64, DType::I64])
}

/// The shape function of the pools. TensorFlow's gives the starts one entry less than its kernels do.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    shape_fns::nn::fractional_pool(cx)?;
    for output in [1, 2] {
        let Some(count) = cx.output(0).dims().map(|dims| dims[output].clone()) else { continue };
        let starts = cx.add(&count, &Dim::known(1))?;
        cx.set_output(output, TensorShape::new([starts]));
    }
    Ok(())
}

fn pool(cx: &mut HostCx<'_>, is_max: bool) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let sizes = sizes_of(&x)?;
    let ratios = cx.attrs().floats("pooling_ratio");
    let (is_pseudo, is_overlapping) = (cx.attrs().bool("pseudo_random"), cx.attrs().bool("overlapping"));
    let (seed, high) = (cx.attrs().int("seed").cast_unsigned(), cx.attrs().int("seed2").cast_unsigned());
    let mut blocks = 0;
    let mut windows = Vec::with_capacity(2);
    for axis in [1, 2] {
        // The division is in f32, as in the shape function.
        let count = (sizes[axis] as f32 / ratios[axis] as f32).floor() as usize;
        if count == 0 {
            return refuse(format!(
                "pooling_ratio must be at most the size of the axis, got {:?} and size {} of axis {axis}",
                ratios[axis], sizes[axis]
            ));
        }
        let stream = Philox::new(seed, [blocks, high]);
        let (starts, taken) = Windows::random(sizes[axis], count, stream, is_pseudo);
        blocks += taken;
        windows.push(Windows::new(starts, sizes[axis], count, is_overlapping)?);
    }
    let [rows, columns] = &windows[..] else { unreachable!("an image has rows and columns") };
    let result_sizes = [sizes[0], rows.ranges.len(), columns.ranges.len(), sizes[3]];
    with_dtype!(x.dtype(), pool_elements(cx, &x, sizes, result_sizes, [rows, columns], is_max))?;
    for (output, windows) in (1..).zip([rows, columns]) {
        cx.set_output(output, Tensor::from_vec(&[windows.starts.len()], windows.starts.clone())?)?;
    }
    Ok(())
}

fn pool_elements<T: Pooled>(
    cx: &mut HostCx<'_>,
    x: &TensorView<'_>,
    sizes: [usize; 4],
    result_sizes: [usize; 4],
    windows: [&Windows; 2],
    is_max: bool,
) -> Result<()> {
    let x = x.as_slice::<T>()?;
    let mut output = cx.unfilled_output(0, &result_sizes)?;
    let output = output.as_mut_slice::<T>()?;
    let channels = sizes[3];
    each_window(windows, sizes, |number, places| {
        let slots = &mut output[number..number + channels];
        if is_max {
            slots.fill(T::LEAST);
            for place in places {
                for (slot, x) in slots.iter_mut().zip(&x[place..place + channels]) {
                    if *slot < *x {
                        *slot = *x;
                    }
                }
            }
        } else {
            slots.fill(T::ZERO);
            let mut count = 0;
            for place in places {
                count += 1;
                slots.iter_mut().zip(&x[place..place + channels]).for_each(|(slot, x)| *slot = slot.plus(*x));
            }
            slots.iter_mut().for_each(|slot| *slot = slot.divided_by(count));
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fractional_pool_gradient;
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { MAX, {"pooling_ratio": &[1.0, 1.5, 2.0, 1.0][..]},
        "[n, 20, 30, c]" => "[n, 13, 15, c]; i64[14]; i64[16]",
        "i32[n, h, 30, c]" => "i32[n, ?, 15, c]; i64[?+1]; i64[16]",
        "f16[n, 20, 30, c]" => error "the element type must be i32, i64, f32 or f64, got f16",
    }
    shape_table! { small_ratio: AVG, {"pooling_ratio": &[1.0, 0.5, 2.0, 1.0][..]},
        "[n, 20, 30, c]" => error "pooling_ratio must be at least 1, got 0.5",
    }
    shape_table! { images: AVG, {"pooling_ratio": &[1.5, 1.5, 2.0, 1.0][..]},
        "[n, 20, 30, c]" => error "pooling_ratio must be 1 for images and channels",
    }
    shape_table! { seeds: AVG, {"pooling_ratio": &[1.0, 1.5, 2.0, 1.0][..], "seed": 3},
        "[n, 20, 30, c]" => error "seed and seed2 must be 0 if deterministic is false, got [3, 0]",
    }
    fn attrs(is_pseudo: bool, is_overlapping: bool, seed: i64) -> Attrs {
        let attrs = Attrs::new().with("pooling_ratio", &[1.0, 1.5, 2.2, 1.0][..]).with("seed", seed);
        let attrs = attrs.with("pseudo_random", is_pseudo).with("overlapping", is_overlapping);
        attrs.with("deterministic", true)
    }

    /// The position of each element of a window, by its row and column.
    fn window(starts: [&[i64]; 2], [row, column]: [usize; 2], is_overlapping: bool) -> Vec<(usize, usize)> {
        let range = |starts: &[i64], window: usize| {
            let size = *starts.last().unwrap();
            starts[window]..(starts[window + 1] + i64::from(is_overlapping)).min(size)
        };
        range(starts[0], row)
            .flat_map(|y| range(starts[1], column).map(move |x| (y as usize, x as usize)))
            .collect()
    }

    #[test]
    fn windows_divide_the_image_and_their_elements_are_pooled() {
        let (height, width) = (7usize, 9usize);
        let x: Vec<f64> = (0..height * width).map(|i| (i * 37 % 61) as f64 - 20.0).collect();
        let image = tensor(&[1, height, width, 1], &x);
        for (is_pseudo, is_overlapping) in [(false, false), (false, true), (true, false), (true, true)] {
            for seed in 1..20 {
                let attrs = attrs(is_pseudo, is_overlapping, seed);
                let max = run(&MAX, &attrs, std::slice::from_ref(&image)).unwrap();
                let avg = run(&AVG, &attrs, std::slice::from_ref(&image)).unwrap();
                let [rows, columns] = [1, 2].map(|output| max[output].to_vec::<i64>().unwrap());
                assert_eq!(rows, avg[1].to_vec::<i64>().unwrap());
                for (starts, size, count) in [(&rows, 7, 4), (&columns, 9, 4)] {
                    assert_eq!((starts[0], starts[count], starts.len()), (0, size, count + 1));
                    let least = size / count as i64;
                    assert!(starts.windows(2).all(|pair| (least..=least + 1).contains(&(pair[1] - pair[0]))));
                }
                let (max, avg) = (max[0].to_vec::<f64>().unwrap(), avg[0].to_vec::<f64>().unwrap());
                let gradient: Vec<f64> = (0..16).map(|i| f64::from(i * i)).collect();
                let (mut of_max, mut of_avg) = (vec![0.0; height * width], vec![0.0; height * width]);
                for number in 0..16 {
                    let window = window([&rows, &columns], [number / 4, number % 4], is_overlapping);
                    let elements: Vec<f64> =
                        window.iter().map(|(row, column)| x[row * width + column]).collect();
                    let largest = elements.iter().copied().fold(f64::MIN, f64::max);
                    assert_eq!(max[number], largest);
                    let mean = elements.iter().sum::<f64>() / elements.len() as f64;
                    assert!((avg[number] - mean).abs() < 1e-12);
                    for (row, column) in &window {
                        of_avg[row * width + column] += gradient[number] / elements.len() as f64;
                    }
                    let (row, column) = window[elements.iter().position(|x| *x == largest).unwrap()];
                    of_max[row * width + column] += gradient[number];
                }
                let (starts, gradient) =
                    ([tensor(&[5], &rows), tensor(&[5], &columns)], tensor(&[1, 4, 4, 1], &gradient));
                let attrs = Attrs::new().with("overlapping", is_overlapping);
                let pooled = tensor(&[1, 4, 4, 1], &max);
                let operands = [&[image.clone(), pooled, gradient.clone()][..], &starts].concat();
                assert_eq!(
                    run_one(&fractional_pool_gradient::MAX, &attrs, &operands).to_vec::<f64>().unwrap(),
                    of_max
                );
                let attrs = attrs.with("orig_input_shape", [1, 7, 9, 1]);
                let got =
                    run_one(&fractional_pool_gradient::AVG, &attrs, &[&[gradient][..], &starts].concat());
                got.allclose(&tensor(&[1, 7, 9, 1], &of_avg), 1e-12, 1e-12).unwrap();
            }
        }
    }
}

//! Laws of ops: an op and its inverse give every element back, for every dtype and for sizes 0 and 1.

use shapeflow::{
    Axes, DType, Executable, Graph, Result, Tensor, TensorShape, TensorView, Value, concat, stack,
};

use crate::rng::Rng;
use crate::tensor_compare::{Bound, difference, tensor_of};

/// A function that builds an op and its inverse: the result equals input 0.
type Build = for<'g> fn(&'g Graph, &[Value<'g>]) -> Result<Value<'g>>;

/// Which dtypes a law is about.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// Every dtype but variant.
    Every,
    /// Every dtype but string and variant.
    Fixed,
    /// The dtypes whose elements can be added to 0.
    Summed,
}

/// A law: its name, its dtypes, the shape of input 0, the shapes of the other inputs (i32 permutations), and the graph.
struct Law(&'static str, Of, &'static str, &'static [&'static str], Build);

const LAWS: &[Law] = &[
    Law("batch_to_space of space_to_batch", Of::Fixed, "[n, 2*h, 3*w, c]", &[], |_, x| {
        let blocks = x[0].space_to_batch_nd([2, 3], [2, 0, 0, 3])?;
        blocks.batch_to_space_nd([2, 3], [2, 0, 0, 3])
    }),
    Law("depth_to_space of space_to_depth", Of::Every, "[n, 2*h, 2*w, c]", &[], |_, x| {
        x[0].space_to_depth(2)?.depth_to_space(2)
    }),
    Law("stack of unstack", Of::Every, "[h, 3, w]", &[], |_, x| stack(&x[0].unstack_into::<3>(1)?, 1)),
    Law("concat of split", Of::Every, "[h, 3*w]", &[], |_, x| concat(&x[0].split::<3>(1)?, 1)),
    Law("concat of split_sizes", Of::Every, "[h+3, w]", &[], |_, x| {
        concat(&x[0].split_sizes([1, -1, 2], 0)?, 0)
    }),
    Law("dynamic_stitch of dynamic_partition", Of::Every, "[n, w]", &["[n]"], |g, x| {
        let parts = x[1].floormod(3)?;
        let positions = g.range(0, x[0].shape().dims().unwrap()[0].clone(), 1)?;
        let positions = positions.dynamic_partition(parts, 3)?;
        shapeflow::dynamic_stitch(&positions, &x[0].dynamic_partition(parts, 3)?)
    }),
    Law("reverse of reverse", Of::Every, "[n, h, w]", &[], |_, x| x[0].reverse([0, -1])?.reverse([0, 2])),
    Law("reverse_sequence of reverse_sequence", Of::Every, "[h, n]", &["[n]"], |_, x| {
        let lengths = x[1].minimum(x[0].shape_tensor_as(DType::I32)?.slice([0], [1])?)?;
        x[0].reverse_sequence(lengths, 0, 1)?.reverse_sequence(lengths, 0, 1)
    }),
    Law("roll of roll", Of::Every, "[n, w]", &[], |_, x| x[0].roll([2, -1], [0, 1])?.roll([-2, 1], [0, 1])),
    Law("transpose by the inverse of transpose", Of::Every, "[n, h, w]", &[], |_, x| {
        x[0].transpose([2, 0, 1])?.transpose([1, 2, 0])
    }),
    Law("gather by the inverse of gather", Of::Every, "[n, w]", &["[n]"], |_, x| {
        x[0].gather(x[1], 0)?.gather(x[1].invert_permutation()?, 0)
    }),
    // A result without elements takes no indices, as in TensorFlow.
    Law("scatter_nd of gather_nd", Of::Summed, "[n, w+1]", &["[n]"], |_, x| {
        let (indices, shape) = (x[1].expand_dims(-1)?, x[0].shape());
        indices.scatter_nd(x[0].gather_nd(indices)?, shape.dims().unwrap().to_vec())
    }),
    Law("tensor_scatter_update of gather_nd", Of::Fixed, "[n, w+1]", &["[n]"], |_, x| {
        let indices = x[1].expand_dims(-1)?;
        x[0].zeros_like()?.tensor_scatter_nd_update(indices, x[0].gather_nd(indices)?)
    }),
    Law("slice of pad", Of::Every, "[n, w]", &[], |_, x| {
        let sizes = x[0].shape().dims().unwrap().to_vec();
        x[0].pad([1, 2, 0, 3])?.slice([1, 0], sizes)
    }),
    Law("reshape of reshape", Of::Every, "[n, h, w]", &[], |_, x| {
        let sizes = x[0].shape().dims().unwrap().to_vec();
        x[0].reshape([-1])?.reshape(sizes)
    }),
    Law("squeeze of expand_dims", Of::Every, "[n, h]", &[], |_, x| x[0].expand_dims(1)?.squeeze([1])),
];

/// The sizes of `n`, `h`, `w` and `c`.
const SIZES: [[usize; 4]; 7] =
    [[0, 1, 1, 1], [1, 0, 2, 1], [1, 1, 1, 1], [2, 1, 0, 3], [3, 2, 1, 2], [7, 3, 5, 1], [40, 2, 9, 4]];

/// Returns the sizes of a shape such as `[n, 2*h]`.
fn sizes_of(shape: &str, sizes: [usize; 4]) -> Vec<usize> {
    let named = |name: &str| sizes["nhwc".find(name).unwrap()];
    let size = |dim: &str| match (dim.split_once('*'), dim.split_once('+'), dim.parse()) {
        (Some((factor, name)), ..) => factor.parse::<usize>().unwrap() * named(name),
        (_, Some((name, more)), _) => named(name) + more.parse::<usize>().unwrap(),
        (.., Ok(size)) => size,
        _ => named(dim),
    };
    shape.trim_matches(['[', ']']).split(", ").map(size).collect()
}

fn elements(rng: &mut Rng, dtype: DType, sizes: &[usize]) -> Tensor {
    let count = sizes.iter().product::<usize>();
    if dtype == DType::String {
        let texts: Vec<String> = (0..count).map(|_| "ab".repeat(rng.below(12))).collect();
        return Tensor::from_strings(sizes, &texts).unwrap();
    }
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let low = if dtype == DType::Bool || dtype.to_string().contains('u') { 0 } else { -7 };
    let numbers: Vec<f64> = (0..count * parts).map(|_| rng.range_inclusive(low, 7) as f64).collect();
    tensor_of(dtype, sizes, &numbers)
}

fn permutation(rng: &mut Rng, count: usize) -> Tensor {
    let numbers: Vec<i32> = rng.permutation(count).into_iter().map(|number| number as i32).collect();
    Tensor::from_vec(&[count], numbers).unwrap()
}

impl Law {
    fn compile(&self, dtype: DType) -> Result<Executable> {
        let g = Graph::new();
        let mut values = vec![g.input("x", dtype, self.2.parse::<TensorShape>()?)?];
        for shape in self.3 {
            values.push(g.input("permutation", DType::I32, shape.parse::<TensorShape>()?)?);
        }
        g.compile((self.4)(&g, &values)?)
    }

    fn has(&self, dtype: DType) -> bool {
        match self.1 {
            Of::Every => dtype != DType::Variant,
            Of::Fixed => dtype.size_bytes().is_some(),
            Of::Summed => {
                let is_number = dtype.is_integer() || dtype.is_float() || dtype.is_complex();
                let is_narrow = matches!(dtype, DType::I4 | DType::U4 | DType::F8E5M2 | DType::F8E4M3FN);
                dtype == DType::String || dtype == DType::Bool || is_number && !is_narrow
            }
        }
    }
}

#[test]
fn an_op_and_its_inverse_give_every_element_back() {
    let mut rng = Rng::new(71);
    let mut faults = Vec::new();
    for law in LAWS {
        for dtype in DType::all().filter(|dtype| law.has(*dtype)) {
            let exe = match law.compile(dtype) {
                Ok(exe) => exe,
                Err(error) => {
                    faults.push(format!("{} of {dtype}: {error}", law.0));
                    continue;
                }
            };
            for sizes in SIZES {
                let x = elements(&mut rng, dtype, &sizes_of(law.2, sizes));
                let mut feeds = vec![x.clone()];
                feeds.extend(law.3.iter().map(|shape| permutation(&mut rng, sizes_of(shape, sizes)[0])));
                let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
                match exe.run::<1>(&views) {
                    Ok([y]) if y == x => {}
                    Ok([y]) => faults.push(format!("{} of {dtype} {sizes:?}: {x:?} became {y:?}", law.0)),
                    Err(error) => faults.push(format!("{} of {dtype} {sizes:?}: {error}", law.0)),
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults[..faults.len().min(8)].join("\n"));
}

/// Checks a law of rounded numbers.
#[track_caller]
fn check_close(x: &Tensor, y: &Tensor, relative: f64) {
    let difference = difference(y, x, Some(Bound { relative, absolute: relative }));
    assert!(difference.is_none(), "{:?}: {}", x.sizes(), difference.unwrap());
}

#[test]
fn solutions_times_the_matrix_are_the_right_hand_side() -> Result<()> {
    let mut rng = Rng::new(72);
    for dtype in [DType::F32, DType::F64, DType::C64, DType::C128] {
        let g = Graph::new();
        let a = g.input("a", dtype, "[b, n, n]".parse::<TensorShape>()?)?;
        let x = g.input("x", dtype, "[b, n, k]".parse::<TensorShape>()?)?;
        // A large diagonal keeps the matrix invertible.
        let size = a.shape_tensor_as(DType::I64)?.slice([1], [1])?.squeeze([0])?;
        let many = g.range(0, size, 1)?;
        let diagonal = many.expand_dims(-1)?.equal(many)?;
        let a = diagonal.select(a + a.ones_like()? * 40.0, a)?;
        let solved = a.matrix_solve(a.matmul(x)?, false)?;
        let least = a.matrix_solve_ls(a.matmul(x)?, 0.0, false)?;
        let exe = g.compile([solved, least])?;
        for [b, n, k] in [[0, 2, 1], [1, 0, 2], [1, 1, 1], [2, 3, 0], [3, 5, 2]] {
            let feeds = [elements(&mut rng, dtype, &[b, n, n]), elements(&mut rng, dtype, &[b, n, k])];
            let [solved, least] = exe.run(&[feeds[0].view(), feeds[1].view()])?;
            check_close(&feeds[1], &solved, 1e-4);
            check_close(&feeds[1], &least, 1e-4);
        }
    }
    Ok(())
}

#[cfg(feature = "fft")]
#[test]
fn inverse_transforms_give_the_numbers_back() -> Result<()> {
    let mut rng = Rng::new(73);
    for dtype in [DType::C64, DType::C128] {
        let g = Graph::new();
        let x = g.input("x", dtype, "[b, h, w]".parse::<TensorShape>()?)?;
        let exe = g.compile([x.fft()?.ifft()?, x.fft2()?.ifft2()?])?;
        for sizes in [[0, 2, 1], [1, 1, 1], [2, 3, 8], [3, 5, 7]] {
            let x = elements(&mut rng, dtype, &sizes);
            for y in exe.run_all(&[x.view()])? {
                check_close(&x, &y, 1e-5);
            }
        }
        let g = Graph::new();
        let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
        let x = g.input("x", part, "[b, w]".parse::<TensorShape>()?)?;
        let length = x.shape().dims().unwrap()[1].clone();
        let exe = g.compile(x.rfft([length.clone()])?.irfft([length])?)?;
        for sizes in [[0, 2], [1, 1], [2, 8], [3, 7]] {
            let x = elements(&mut rng, part, &sizes);
            let [y] = exe.run(&[x.view()])?;
            check_close(&x, &y, 1e-5);
        }
    }
    Ok(())
}

#[test]
fn a_sum_over_all_axes_is_the_sum_of_sums() -> Result<()> {
    let mut rng = Rng::new(74);
    for dtype in [DType::I32, DType::I64, DType::U8, DType::F64, DType::C128] {
        let g = Graph::new();
        let x = g.input("x", dtype, "[n, w]".parse::<TensorShape>()?)?;
        let exe = g.compile([x.reduce_sum(Axes::all())?, x.reduce_sum(1)?.reduce_sum(0)?])?;
        for sizes in [[0, 3], [1, 1], [2, 0], [9, 33]] {
            let [whole, parts] = exe.run(&[elements(&mut rng, dtype, &sizes).view()])?;
            assert_eq!(whole, parts, "{dtype} {sizes:?}");
        }
    }
    Ok(())
}

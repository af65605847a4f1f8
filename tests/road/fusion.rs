//! Each chain of ops that is typical of data pipelines becomes one kernel. The kernel moves no more bytes than its
//! inputs and outputs have.

use shapeflow::{
    Axes, Backend, CompileOptions, DType, Executable, Graph, Mirror, QuantizeOptions, Result, Sampling,
    SliceItem, Stats, Tensor, TensorShape, TensorView, Value, WindowPadding, concat, shape, stack,
};

/// A function that builds a chain from the values of its inputs.
type Build = for<'g> fn(&'g Graph, &[Value<'g>]) -> Result<Value<'g>>;

/// A chain of ops.
struct Chain {
    name: &'static str,
    /// The dtype, the declared shape and the sizes of every input.
    inputs: &'static [(DType, &'static str, &'static [usize])],
    build: Build,
}

use DType::{Bool, C64, F16, F32, I16, I32, QU8, U8};

const CHAINS: &[Chain] = &[
    Chain {
        name: "pad, transpose, relu",
        inputs: &[(F32, "[n, m]", &[33, 20])],
        build: |_, x| x[0].pad([1, 1, 2, 0])?.transpose([1, 0])?.relu(),
    },
    Chain {
        name: "slice, concat, reverse, add",
        inputs: &[(F32, "[n, m]", &[9, 20]), (F32, "[k, m]", &[30, 20]), (F32, "[m]", &[20])],
        build: |_, x| concat(&[x[0].slice_with(&[SliceItem::from(2..)])?, x[1]], 0)?.reverse([0])?.add(x[2]),
    },
    Chain {
        name: "space_to_depth, cast, normalize",
        inputs: &[(U8, "[n, 2*h, 2*w, 3]", &[2, 8, 6, 3])],
        build: |g, x| {
            let mean = g.constant([0.5f32; 12])?;
            (x[0].space_to_depth(2)?.cast(F32)? * (1.0 / 255.0) - mean).div(0.25)
        },
    },
    Chain {
        name: "complex multiply, abs, reduce_sum",
        inputs: &[(C64, "[n, m]", &[7, 40]), (C64, "[n, m]", &[7, 40])],
        build: |_, x| (x[0] * x[1]).abs()?.reduce_sum(-1),
    },
    Chain {
        name: "dequantize, scale, relu6, quantize",
        inputs: &[(QU8, "[n, m]", &[7, 40]), (F32, "[m]", &[40])],
        build: |_, x| {
            let options = QuantizeOptions::default();
            let y = (x[0].dequantize(-1.0, 6.0, options)? * x[1]).relu6()?;
            let [y, ..] = y.quantize(0.0, 6.0, QU8, options)?;
            Ok(y)
        },
    },
    Chain {
        name: "one_hot, reduce_sum: a bag of words",
        inputs: &[(I32, "[n, k]", &[5, 12])],
        build: |_, x| x[0].one_hot(20, 1.0f32, 0.0f32, -1)?.reduce_sum(1),
    },
    Chain {
        name: "gather, scale, clip: an embedding",
        inputs: &[(F32, "[v, d]", &[20, 16]), (I32, "[n]", &[9]), (F32, "[d]", &[16])],
        build: |_, x| (x[0].gather(x[1], 0)? * x[2]).clip_by_value(-1.0, 1.0),
    },
    Chain {
        name: "strided_slice, tile, add",
        inputs: &[(F32, "[2*n, m]", &[10, 20]), (F32, "[n, 3*m]", &[5, 60])],
        build: |_, x| x[0].slice_with(&[SliceItem::from(..).step(2)])?.tile([1, 3])?.add(x[1]),
    },
    Chain {
        name: "unstack, stack in another order",
        inputs: &[(U8, "[n, 3]", &[50, 3])],
        build: |_, x| {
            let [red, green, blue] = x[0].unstack_into::<3>(1)?;
            stack(&[blue, green, red], 1)
        },
    },
    Chain {
        name: "resize_bilinear, normalize",
        inputs: &[(U8, "[n, h, w, 3]", &[2, 8, 6, 3])],
        build: |_, x| (x[0].resize_bilinear([4, 9], Sampling::HalfPixel)? - 127.5).div(127.5),
    },
    Chain {
        name: "select, reduce_mean",
        inputs: &[(F32, "[n, m]", &[7, 40])],
        build: |_, x| x[0].greater(0.0)?.select(x[0], 0.0)?.reduce_mean(-1),
    },
    Chain {
        name: "batch_to_space, crop, bias",
        inputs: &[(F32, "[4*n, h, w, c]", &[8, 3, 5, 4]), (F32, "[c]", &[4])],
        build: |_, x| {
            let image = x[0].batch_to_space_nd([2, 2], [0, 0, 0, 0])?;
            let end = -1;
            let inside = SliceItem::from(1..end);
            image.slice_with(&[SliceItem::from(..), inside.clone(), inside])?.add(x[1])
        },
    },
    Chain {
        name: "bitcast, and, population_count",
        inputs: &[(F32, "[n]", &[100])],
        build: |_, x| x[0].bitcast(I32)?.bitwise_and(0x007f_ffff)?.population_count(),
    },
    Chain {
        name: "f16 multiply, add, tanh, each rounded",
        inputs: &[(F16, "[n, m]", &[7, 40]), (F16, "[m]", &[40]), (F16, "[m]", &[40])],
        build: |_, x| (x[0] * x[1] + x[2]).tanh(),
    },
    Chain {
        name: "select, reduce_max: a masked maximum",
        inputs: &[(F32, "[n, m, d]", &[3, 17, 8]), (Bool, "[n, m, 1]", &[3, 17, 1])],
        build: |_, x| x[1].select(x[0], f32::NEG_INFINITY)?.reduce_max(1),
    },
    Chain {
        name: "mask, softmax: attention weights",
        inputs: &[(F32, "[n, m]", &[7, 40]), (Bool, "[n, m]", &[7, 40])],
        build: |_, x| (x[0] * 0.125 + x[1].select(0.0f32, x[0] * 0.0 - 1e9)?).softmax(-1),
    },
    Chain {
        name: "sequence_mask, multiply, mean over time",
        inputs: &[(F32, "[n, t, d]", &[3, 10, 8]), (I32, "[n]", &[3])],
        build: |_, x| {
            let mask = x[1].sequence_mask(10)?.cast(F32)?.expand_dims(-1)?;
            (x[0] * mask).reduce_sum(1)?.div(x[1].cast(F32)?.maximum(1.0)?.expand_dims(-1)?)
        },
    },
    Chain {
        name: "depth_to_space, scale, clip, cast to bytes",
        inputs: &[(F32, "[n, h, w, 12]", &[2, 4, 5, 12])],
        build: |_, x| (x[0].depth_to_space(2)? * 255.0).clip_by_value(0.0, 255.0)?.cast(U8),
    },
    Chain {
        name: "cast, windows, taper: frames of audio",
        inputs: &[(I16, "[n, t]", &[2, 64]), (F32, "[8]", &[8])],
        build: |_, x| {
            let sound = (x[0].cast(F32)? * (1.0 / 32768.0)).expand_dims(1)?.expand_dims(-1)?;
            sound.extract_image_patches([1, 8], [1, 4], [1, 1], WindowPadding::Valid)?.squeeze([1])?.mul(x[1])
        },
    },
    Chain {
        name: "roll, difference, square, mean",
        inputs: &[(F32, "[n, m]", &[7, 40])],
        build: |_, x| (x[0] - x[0].roll([1], [-1])?).square()?.reduce_mean(Axes::of(-1)),
    },
    Chain {
        name: "mirror_pad, transpose, cast",
        inputs: &[(U8, "[n, h, w, 3]", &[2, 8, 6, 3])],
        build: |_, x| {
            x[0].mirror_pad([0, 0, 1, 1, 1, 1, 0, 0], Mirror::Reflect)?.transpose([0, 3, 1, 2])?.cast(F32)
        },
    },
];

impl Chain {
    /// Compiles the chain for inputs of the declared shapes, or of the sizes if `is_sized`.
    fn compile(&self, options: &CompileOptions, is_sized: bool) -> Result<Executable> {
        let g = Graph::new();
        let mut inputs = Vec::new();
        for (number, (dtype, shape, sizes)) in self.inputs.iter().enumerate() {
            let sized = format!("{sizes:?}");
            let shape: TensorShape = if is_sized { &sized } else { *shape }.parse()?;
            inputs.push(g.input(&format!("x{number}"), *dtype, shape)?);
        }
        g.compile_with(options, (self.build)(&g, &inputs)?)
    }

    /// Returns numbers for every input.
    fn feeds(&self) -> Result<Vec<Tensor>> {
        let numbers = |(number, (dtype, _, sizes)): (usize, &(DType, &str, &[usize]))| {
            let count = sizes.iter().product::<usize>() * if *dtype == C64 { 2 } else { 1 };
            let integer = |i: usize| ((i * 7 + number * 3) * 37 % 19) as i32;
            let real = |i: usize| integer(i) as f32 / 4.0 - 1.5;
            match dtype {
                QU8 => Tensor::from_bits(
                    QU8,
                    sizes,
                    &(0..count).map(|i| integer(i) as u8 * 13).collect::<Vec<_>>(),
                ),
                F16 => {
                    let bits = (0..count).map(|i| half::f16::from_f32(real(i)).to_bits());
                    Tensor::from_bits(F16, sizes, &bits.collect::<Vec<_>>())
                }
                C64 => Tensor::from_bits(C64, sizes, &(0..count).map(real).collect::<Vec<_>>()),
                F32 => Tensor::from_vec(sizes, (0..count).map(real).collect()),
                U8 => Tensor::from_vec(sizes, (0..count).map(|i| integer(i) as u8 * 13).collect()),
                I16 => Tensor::from_vec(sizes, (0..count).map(|i| integer(i) as i16 * 99).collect()),
                Bool => Tensor::from_vec(sizes, (0..count).map(|i| integer(i) % 3 != 0).collect()),
                _ => Tensor::from_vec(sizes, (0..count).map(|i| integer(i) % 9).collect()),
            }
        };
        self.inputs.iter().enumerate().map(numbers).collect()
    }
}

/// Returns the name, the origin and the number of bytes of every buffer. `text` is what [`Executable::kernels`] prints
/// for known sizes, such as `b0: f32[2, 3] = input "x"`.
fn buffers(text: &str) -> Vec<(&str, &str, usize)> {
    let bytes = |ty: &str| {
        let (dtype, shape) = ty.split_once('[').unwrap();
        let sizes = shape.trim_end_matches(']').split(", ").filter(|size| !size.is_empty());
        let count: usize = sizes.map(|size| size.parse::<usize>().unwrap()).product();
        count * dtype.parse::<DType>().unwrap().size_bytes().unwrap()
    };
    let is_buffer = |line: &&str| line.starts_with('b') && !line.starts_with("body");
    text.lines()
        .filter(is_buffer)
        .map(|line| {
            let (name, rest) = line.split_once(": ").unwrap();
            let (ty, origin) = rest.split_once(" = ").unwrap();
            (name, origin, bytes(ty))
        })
        .collect()
}

/// Returns the bytes that kernels read and write: each buffer of each kernel once, because further passes over a row
/// find the row in the cache.
fn bytes_moved(text: &str) -> usize {
    let buffers = buffers(text);
    // A head is a line such as `kernel(b0, b1) -> b2, may fail {`.
    let heads = text.lines().filter_map(|line| line.strip_prefix("kernel("));
    let names = heads.flat_map(|head| head.split([',', ' ', ')']).filter(|word| word.starts_with('b')));
    names.map(|name| buffers.iter().find(|(buffer, ..)| *buffer == name).unwrap().2).sum()
}

/// The chains that become more than one kernel or store a value between ops. The second entry is what the text of the
/// kernels says about the stored value.
///
/// - A reduction does not walk over pieces of a row, and a rolled row has two pieces.
/// - The flags of a mask cost more than a load, and every channel would compute them again.
const STORED: &[(&str, &str)] = &[
    ("roll, difference, square, mean", "roll, stored: reduced, then read in another domain"),
    (
        "sequence_mask, multiply, mean over time",
        "cast, stored: costly and read along an axis that it does not have",
    ),
];

/// Returns the bytes of the buffers that a listing calls constants.
fn constant_bytes(text: &str) -> usize {
    buffers(text).iter().filter(|(_, origin, _)| *origin == "constant").map(|(.., bytes)| bytes).sum()
}

#[test]
fn chains_of_pipelines_are_one_kernel_without_memory_between_ops() -> Result<()> {
    let mut faults = Vec::new();
    for chain in CHAINS {
        let options = CompileOptions::new();
        let exe = chain.compile(&options, false)?;
        let feeds = chain.feeds()?;
        let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
        let [y] = exe.run(&views)?;
        let [expected] = chain.compile(&options.clone().backend(Backend::Interpreter), false)?.run(&views)?;
        if let Err(difference) = y.allclose(&expected, 1e-5, 1e-5) {
            faults.push(format!("{}: {difference}", chain.name));
        }

        let stats = exe.stats();
        let bytes_of = |tensor: &Tensor| tensor.len() * tensor.dtype().size_bytes().unwrap();
        let sized = chain.compile(&options, true)?.kernels();
        let least = feeds.iter().map(bytes_of).sum::<usize>() + bytes_of(&y) + constant_bytes(&sized);
        let moved = bytes_moved(&sized);
        println!("{}: {} kernels, {moved} bytes moved, {least} needed", chain.name, stats.kernels);
        let is_one = (stats.kernels, stats.products, stats.host_nodes) == (1, 0, 0) && moved <= least;
        let fits = match STORED.iter().find(|(name, _)| *name == chain.name) {
            Some((_, reason)) => !is_one && exe.kernels().contains(reason),
            None => is_one,
        };
        if !fits {
            faults.push(format!("{}: {moved} bytes moved, {least} needed\n{}", chain.name, exe.kernels()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    Ok(())
}

/// The axes of a square have one size. A kernel must not take the axis of a row for the axis that the row is reduced
/// over.
#[test]
fn reductions_of_a_square_are_read_along_both_axes() -> Result<()> {
    const SIZE: usize = 5;
    let element = |row: usize, column: usize| ((row * 7 + column * 3) % 11) as f32 - 4.0;
    let elements: Vec<f32> = (0..SIZE * SIZE).map(|at| element(at / SIZE, at % SIZE)).collect();
    let sum = |row: usize| (0..SIZE).map(|column| element(row, column).powi(2)).sum::<f32>();
    let dot = |a: usize, b: usize| (0..SIZE).map(|at| element(a, at) * element(b, at)).sum::<f32>();
    let at = |of: &dyn Fn(usize, usize) -> f32| -> Vec<f32> {
        (0..SIZE * SIZE).map(|at| of(at / SIZE, at % SIZE)).collect()
    };
    let x = TensorView::new(&[SIZE, SIZE], &elements)?;
    for shape in [shape![5, 5], shape!["n", "n"], shape!["n", 5], shape!["n", "m"]] {
        let g = Graph::new();
        let input = g.input("x", DType::F32, shape)?;
        let squares = input.square()?;
        let (flat, column) = (squares.reduce_sum(1)?, squares.reduce_sum(Axes::of(1).keep_dims())?);
        let distances = flat
            .expand_dims(1)?
            .add(flat.expand_dims(0)?)?
            .sub(input.matmul_transposed(input, false, true)?.mul(2.0)?)?;
        let rows = input.mul(input.t()?)?.reduce_sum(Axes::of(0).keep_dims())?;
        let cases = [
            (distances, at(&|a, b| sum(a) + sum(b) - 2.0 * dot(a, b))),
            (column.add(column.t()?)?, at(&|a, b| sum(a) + sum(b))),
            (column.sub(column.reshape([-1])?)?, at(&|a, b| sum(a) - sum(b))),
            (flat.expand_dims(0)?.mul(flat.expand_dims(1)?)?, at(&|a, b| sum(a) * sum(b))),
            (
                rows.add(rows.t()?)?,
                at(&|a, b| {
                    let mixed =
                        |at: usize| (0..SIZE).map(|row| element(row, at) * element(at, row)).sum::<f32>();
                    mixed(a) + mixed(b)
                }),
            ),
        ];
        for (number, (output, expected)) in cases.into_iter().enumerate() {
            let [got] = g.compile(output)?.run(std::slice::from_ref(&x))?;
            assert_eq!(got.as_slice::<f32>()?, expected, "case {number} of {}", input.shape());
        }
    }
    Ok(())
}

/// The interpreter computes a padded dilation of integers, because its reduction has a condition on a reduced axis.
#[test]
fn stats_name_the_nodes_that_the_interpreter_computes() -> Result<()> {
    let stats = |dtype| -> Result<Stats> {
        let g = Graph::new();
        let x = g.input("x", dtype, [1, 5, 5, 2])?;
        let filter = g.input("filter", dtype, [3, 3, 2])?;
        Ok(g.compile(x.dilation_2d(filter, [1, 1], [1, 1], WindowPadding::Same)?.neg()?)?.stats())
    };
    assert_eq!(stats(DType::F32)?.interpreted_nodes, [""; 0]);
    let stats = stats(DType::I32)?;
    let [node] = &stats.interpreted_nodes[..] else { panic!("one node has no kernel, got {stats}") };
    assert!(node.starts_with("dilation_2d") && node.contains(" made at tests/road/fusion.rs:"), "{node}");
    assert!(stats.to_string().contains(&format!("so the interpreter computes: {node}\n")), "{stats}");
    Ok(())
}

//! One executable runs with many structure parameters (axes, permutations), ranks and sizes in turn, and must compute
//! what a new executable computes.

use shapeflow_shape_fns::{Attr, DType, TensorShape, shape};

use crate::compile::{Backend, CompileOptions};
use crate::error::Result;
use crate::exec::Executable;
use crate::graph::{Graph, Value};
use crate::op::{OpDef, Operand};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// Pseudo-random numbers (xorshift).
struct Draws(u64);

impl Draws {
    /// Draws a number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// Draws `count` of the numbers below `rank`, in any order.
    fn axes(&mut self, rank: usize, count: usize) -> Vec<i32> {
        let mut all: Vec<i32> = (0..rank as i32).collect();
        for index in (1..rank).rev() {
            all.swap(index, self.below(index + 1));
        }
        all.truncate(count);
        all
    }
}

/// The meaning of an op's structure or size parameter.
#[derive(Clone, Copy)]
enum Parameter {
    /// One axis of the operand.
    Axis,
    /// A list of one axis.
    AxisList,
    /// One axis of a result that has one axis more than the operand.
    NewAxis,
    /// Some axes, each at most once.
    Axes,
    /// All axes, each once, in any order.
    Permutation,
    /// A shape with the operand's number of elements.
    Shape,
    /// A positive number for each axis.
    Multiples,
}

impl Parameter {
    fn is_scalar(self) -> bool {
        matches!(self, Parameter::Axis | Parameter::NewAxis)
    }

    fn draw(self, sizes: &[usize], draws: &mut Draws) -> Tensor {
        let rank = sizes.len();
        let signed = |axis: usize, rank: usize, draws: &mut Draws| match draws.below(2) {
            0 => axis as i32,
            _ => axis as i32 - rank as i32,
        };
        let elements: Vec<i32> = match self {
            Parameter::Axis | Parameter::AxisList => vec![signed(draws.below(rank), rank, draws)],
            Parameter::NewAxis => vec![signed(draws.below(rank + 1), rank + 1, draws)],
            Parameter::Axes => {
                let count = draws.below(rank + 1);
                let axes = draws.axes(rank, count);
                axes.into_iter().map(|axis| signed(axis as usize, rank, draws)).collect()
            }
            Parameter::Permutation => draws.axes(rank, rank),
            Parameter::Shape => {
                let axes = draws.axes(rank, rank);
                let mut shape: Vec<i32> = axes.iter().map(|axis| sizes[*axis as usize] as i32).collect();
                (0..draws.below(3)).for_each(|_| shape.insert(0, 1));
                shape
            }
            Parameter::Multiples => (0..rank).map(|_| 1 + draws.below(3) as i32).collect(),
        };
        let sizes = if self.is_scalar() { vec![] } else { vec![elements.len()] };
        Tensor::from_vec(&sizes, elements).unwrap()
    }
}

/// Ops whose data operands have different sizes. Random graphs feed their parameters.
const OF_SEVERAL_SIZES: [&str; 10] = [
    "concat_offset",
    "matrix_diag_part_with",
    "matrix_diag_with",
    "matrix_set_diag",
    "quantized_concat",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "strided_slice_grad",
];

/// How the test calls an op and feeds it.
struct Case {
    parameter: Parameter,
    dtype: DType,
    attrs: Vec<(&'static str, Attr)>,
    /// Number of data operands, which all have the same sizes.
    data: usize,
    /// Whether an operand of indices follows the data operands.
    indexed: bool,
}

/// Returns the case of an op of the registry.
fn case_of(op: &str) -> Case {
    let case = |parameter| Case { parameter, dtype: DType::F32, attrs: Vec::new(), data: 1, indexed: false };
    match op {
        "expand_dims" => case(Parameter::NewAxis),
        "transpose" => case(Parameter::Permutation),
        "reverse" | "euclidean_norm" => case(Parameter::Axes),
        "reduce_any" | "reduce_all" => Case { dtype: DType::Bool, ..case(Parameter::Axes) },
        "conjugate_transpose" => Case { dtype: DType::C64, ..case(Parameter::Permutation) },
        "complex_prod" => Case { dtype: DType::C64, ..case(Parameter::Axes) },
        _ if op.starts_with("reduce_") => case(Parameter::Axes),
        "softmax"
        | "log_softmax"
        | "cumsum"
        | "cumprod"
        | "cumulative_logsumexp"
        | "argmax"
        | "argmin"
        | "sort"
        | "argsort" => case(Parameter::Axis),
        "unique_slices" | "unique_slices_with_counts" => case(Parameter::AxisList),
        "roll" => Case { attrs: vec![("shift", Attr::from(3))], ..case(Parameter::Axis) },
        "gather" => Case { indexed: true, ..case(Parameter::Axis) },
        "concat" => Case { data: 3, ..case(Parameter::Axis) },
        "split" => Case { attrs: vec![("num", Attr::from(2))], ..case(Parameter::Axis) },
        "split_sizes" => {
            let attrs = vec![("num", Attr::from(2)), ("size_splits", Attr::from([1, -1]))];
            Case { attrs, ..case(Parameter::Axis) }
        }
        "reshape" => case(Parameter::Shape),
        "tile" => case(Parameter::Multiples),
        _ => panic!("say how {op} is fed: an op with a structure operand must be here"),
    }
}

/// Returns the parameter that a run feeds: the structure parameter, or a size parameter of unknown length.
fn fed_parameter(def: &OpDef) -> Option<&'static str> {
    let list = def.operand_list().unwrap_or_default();
    list.iter().find_map(|operand| match operand {
        Operand::Structure(name) => Some(*name),
        Operand::Size(name) if matches!(def.name(), "reshape" | "tile") => Some(*name),
        _ => None,
    })
}

/// Builds a call of the op on inputs for its data and its parameter.
fn build<'g>(
    graph: &'g Graph,
    def: &'static str,
    case: &Case,
    parameter: &'static str,
    shape: &TensorShape,
) -> Result<Vec<Value<'g>>> {
    let def = crate::op::Registry::builtin().get(def).unwrap();
    let data: Vec<Value<'g>> = (0..case.data + usize::from(case.indexed))
        .map(|number| {
            if number == case.data {
                return graph.input("indices", DType::I32, shape![?]);
            }
            graph.input(&format!("x{number}"), case.dtype, shape.clone())
        })
        .collect::<Result<_>>()?;
    let length = if case.parameter.is_scalar() { shape![] } else { shape![?] };
    let value = graph.input("parameter", DType::I32, length)?;
    let call = graph.op(def).data_all(&data).structure(parameter, value);
    case.attrs.iter().fold(call, |call, (name, attr)| call.attr(name, attr.clone())).finish_all()
}

/// Draws data of these sizes and a parameter that fits them.
fn draw_feeds(case: &Case, sizes: &[usize], draws: &mut Draws) -> Vec<Tensor> {
    let len = sizes.iter().product();
    let mut feeds: Vec<Tensor> = (0..case.data)
        .map(|_| match case.dtype {
            DType::Bool => Tensor::from_vec(sizes, (0..len).map(|_| draws.below(4) > 0).collect()),
            DType::C64 => {
                let parts: Vec<f32> = (0..2 * len).map(|_| draws.below(16) as f32 / 8.0 - 1.0).collect();
                Tensor::from_bits(DType::C64, sizes, &parts)
            }
            _ => Tensor::from_vec(sizes, (0..len).map(|_| draws.below(64) as f32 / 8.0 - 4.0).collect()),
        })
        .collect::<Result<_>>()
        .unwrap();
    if case.indexed {
        // Every size is at least 2.
        feeds.push(Tensor::from_vec(&[3], (0..3).map(|_| draws.below(2) as i32).collect()).unwrap());
    }
    feeds.push(case.parameter.draw(sizes, draws));
    feeds
}

fn assert_same(got: &[Tensor], expected: &[Tensor], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (got, expected) in got.iter().zip(expected) {
        assert_eq!(got.sizes(), expected.sizes(), "{what}");
        if got != expected {
            got.allclose(expected, 1e-5, 1e-5).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    }
}

/// Runs an executable, a runner, and a runner with memory of the caller on `feeds` in random order, and compares the
/// results with `expected`.
fn run_in_turn(
    exe: &Executable,
    feeds: &[Vec<Tensor>],
    expected: &[Vec<Tensor>],
    what: &str,
    draws: &mut Draws,
) {
    let mut runners = [exe.runner(), exe.runner()];
    let mut order: Vec<usize> = (0..feeds.len()).chain((0..feeds.len()).rev()).collect();
    order.extend((0..2 * feeds.len()).map(|_| draws.below(feeds.len())));
    for index in order {
        let views: Vec<TensorView<'_>> = feeds[index].iter().map(Tensor::view).collect();
        let what = format!("{what} of {:?}", feeds[index]);
        assert_same(&exe.run_all(&views).unwrap(), &expected[index], &what);
        assert_same(&runners[0].run(&views).unwrap(), &expected[index], &what);
        let mut results: Vec<Tensor> =
            expected[index].iter().map(|like| Tensor::zeros(like.dtype(), like.sizes()).unwrap()).collect();
        let mut lent: Vec<TensorViewMut<'_>> =
            results.iter_mut().map(|result| result.view_mut().unwrap()).collect();
        runners[1].run_into(&views, &mut lent).unwrap();
        drop(lent);
        assert_same(&results, &expected[index], &what);
    }
}

/// Compiles a new executable for the interpreter, and runs it.
fn run_fresh(graph: &Graph, outputs: &[Value<'_>], feeds: &[Tensor]) -> Vec<Tensor> {
    let options = CompileOptions::new().backend(Backend::Interpreter);
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    graph.compile_with(&options, outputs).unwrap().run_all(&views).unwrap()
}

#[test]
fn every_structure_operand_gives_the_results_of_a_new_executable() {
    let registry = crate::op::Registry::builtin();
    for def in registry.iter() {
        let Some(parameter) = fed_parameter(def) else { continue };
        // The drawn operands are numbers.
        if OF_SEVERAL_SIZES.contains(&def.name()) || def.dtypes() == [DType::String] {
            continue;
        }
        let case = case_of(def.name());
        for shape in [shape![?, ?, ?], TensorShape::unranked()] {
            let graph = Graph::new();
            let outputs = build(&graph, def.name(), &case, parameter, &shape).unwrap();
            let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
            let mut feeds = Vec::new();
            for _ in 0..3 {
                let rank = shape.rank().unwrap_or_else(|| 1 + draws.below(3));
                let sizes: Vec<usize> = (0..rank).map(|_| 2 * (1 + draws.below(3))).collect();
                // Several parameters for each set of sizes.
                for _ in 0..3 {
                    feeds.push(draw_feeds(&case, &sizes, &mut draws));
                }
            }
            let expected: Vec<Vec<Tensor>> =
                feeds.iter().map(|feeds| run_fresh(&graph, &outputs, feeds)).collect();
            for (feeds, expected) in feeds.iter().zip(&expected) {
                if let Some(naive) = naive(def.name(), feeds) {
                    assert_same(expected, &naive, &format!("{} of {feeds:?} by loops", def.name()));
                }
            }
            let exe = graph.compile(&outputs).unwrap();
            let what = format!("{} of {shape}", def.name());
            run_in_turn(&exe, &feeds, &expected, &what, &mut draws);
        }
    }
}

/// Returns the element of a tensor of floats at an index.
fn element(x: &Tensor, index: &[usize]) -> f32 {
    let offset = index.iter().zip(x.sizes()).fold(0, |offset, (index, size)| offset * size + index);
    x.as_slice::<f32>().unwrap()[offset]
}

/// Makes a tensor of these sizes from a function of the index.
fn tensor_of(sizes: &[usize], of: &dyn Fn(&[usize]) -> f32) -> Tensor {
    let len: usize = sizes.iter().product();
    Tensor::from_vec(sizes, (0..len).map(|offset| of(&index_of(offset, sizes))).collect()).unwrap()
}

/// Returns the index of the element at an offset of a row-major tensor.
fn index_of(offset: usize, sizes: &[usize]) -> Vec<usize> {
    let mut remaining = offset;
    let mut index: Vec<usize> =
        sizes.iter().rev().map(|size| (remaining % size, remaining /= size).0).collect();
    index.reverse();
    index
}

/// Returns `index` with another position on one axis.
fn with_position(index: &[usize], axis: usize, position: usize) -> Vec<usize> {
    let mut index = index.to_vec();
    index[axis] = position;
    index
}

/// Computes the results of an op by loops; none for an op that has no loop here.
fn naive(op: &str, feeds: &[Tensor]) -> Option<Vec<Tensor>> {
    let (x, sizes) = (&feeds[0], feeds[0].sizes());
    let rank = sizes.len() as i32 + i32::from(op == "expand_dims");
    let given = feeds.last()?.as_slice::<i32>().ok()?;
    let axes: Vec<usize> = given.iter().map(|axis| axis.rem_euclid(rank.max(1)) as usize).collect();
    let axis = axes.first().copied().unwrap_or_default();
    let resized = |size: usize| with_position(sizes, axis, size);
    Some(vec![match op {
        "expand_dims" => {
            let mut sizes = sizes.to_vec();
            sizes.insert(axis, 1);
            x.reshape(&sizes).unwrap()
        }
        "transpose" => {
            let turned: Vec<usize> = axes.iter().map(|axis| sizes[*axis]).collect();
            tensor_of(&turned, &|index| {
                let mut read = vec![0; axes.len()];
                axes.iter().zip(index).for_each(|(axis, position)| read[*axis] = *position);
                element(x, &read)
            })
        }
        "reverse" => tensor_of(sizes, &|index| {
            let mut read = index.to_vec();
            axes.iter().for_each(|axis| read[*axis] = sizes[*axis] - 1 - read[*axis]);
            element(x, &read)
        }),
        "cumsum" => tensor_of(sizes, &|index| {
            (0..=index[axis]).map(|i| element(x, &with_position(index, axis, i))).sum()
        }),
        "concat" => tensor_of(&resized(3 * sizes[axis]), &|index| {
            element(&feeds[index[axis] / sizes[axis]], &with_position(index, axis, index[axis] % sizes[axis]))
        }),
        "gather" => {
            let indices = feeds[1].as_slice::<i32>().unwrap();
            tensor_of(&resized(indices.len()), &|index| {
                element(x, &with_position(index, axis, indices[index[axis]] as usize))
            })
        }
        "split" => {
            let half = sizes[axis] / 2;
            let part = |first: usize| {
                tensor_of(&resized(half), &|index| {
                    element(x, &with_position(index, axis, first + index[axis]))
                })
            };
            return Some(vec![part(0), part(half)]);
        }
        "reduce_sum" => {
            let kept: Vec<usize> = (0..sizes.len()).filter(|axis| !axes.contains(axis)).collect();
            let remaining: Vec<usize> = kept.iter().map(|axis| sizes[*axis]).collect();
            let mut sums = vec![0.0; remaining.iter().product()];
            for offset in 0..x.len() {
                let index = index_of(offset, sizes);
                let sum = kept.iter().fold(0, |sum, axis| sum * sizes[*axis] + index[*axis]);
                sums[sum] += element(x, &index);
            }
            Tensor::from_vec(&remaining, sums).unwrap()
        }
        _ => return None,
    }])
}

#[test]
fn sizes_that_determine_a_rank_give_the_results_of_a_new_executable() {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape![?, ?, ?]).unwrap();
    let outputs = [x.squeeze(&[]).unwrap()];
    let exe = graph.compile(outputs).unwrap();
    let sizes = [[1, 2, 3], [2, 1, 3], [2, 3, 1], [1, 6, 1], [1, 1, 6], [2, 3, 1]];
    let data: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let feeds: Vec<Vec<Tensor>> =
        sizes.iter().map(|sizes| vec![Tensor::from_slice(sizes, &data).unwrap()]).collect();
    let expected: Vec<Vec<Tensor>> = feeds
        .iter()
        .map(|feeds| {
            let kept: Vec<usize> = feeds[0].sizes().iter().copied().filter(|size| *size != 1).collect();
            vec![feeds[0].reshape(&kept).unwrap()]
        })
        .collect();
    run_in_turn(&exe, &feeds, &expected, "squeeze", &mut Draws(1));
}

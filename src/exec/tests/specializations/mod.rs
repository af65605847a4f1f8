//! One executable runs with many structure parameters (axes, permutations), ranks and sizes in turn, and must compute
//! what a new executable computes, and what loops compute.

use shapeflow_shape_fns::{DType, TensorShape, shape};

use self::cases::{build, case_of, draw_feeds, fed_parameter};
use self::draws::Draws;
use self::naive::naive;
use self::programs::{PROGRAMS, Program};
use crate::compile::{Backend, CompileOptions};
use crate::exec::{BoundRun, Executable};
use crate::graph::{Graph, Value};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

mod cases;
mod draws;
mod loops;
mod naive;
mod programs;

fn assert_same(got: &[Tensor], expected: &[Tensor], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (got, expected) in got.iter().zip(expected) {
        assert_eq!((got.dtype(), got.sizes()), (expected.dtype(), expected.sizes()), "{what}");
        if got != expected {
            got.allclose(expected, 1e-5, 1e-5).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    }
}

/// Runs an executable, a runner, a runner with memory of the caller, and bound runs on `feeds` in random order, and
/// compares the results with `expected`.
fn run_in_turn(
    exe: &Executable,
    feeds: &[Vec<Tensor>],
    expected: &[Vec<Tensor>],
    what: &str,
    draws: &mut Draws,
) {
    let mut runners = [exe.runner(), exe.runner()];
    let mut bound = BoundRuns { exe, runs: Vec::new() };
    let has_strings = expected.iter().flatten().any(|result| result.dtype() == DType::String);
    let mut order: Vec<usize> = (0..feeds.len()).chain((0..feeds.len()).rev()).collect();
    order.extend((0..2 * feeds.len()).map(|_| draws.below(feeds.len())));
    for index in order {
        let views: Vec<TensorView<'_>> = feeds[index].iter().map(Tensor::view).collect();
        let what = format!("{what} of {:?}", feeds[index]);
        assert_same(&exe.run_all(&views).unwrap(), &expected[index], &what);
        assert_same(&runners[0].run(&views).unwrap(), &expected[index], &what);
        assert_same(&bound.run(&feeds[index]), &expected[index], &what);
        // The length of a string is no part of the sizes, so the caller cannot have memory for strings.
        if has_strings {
            continue;
        }
        let mut results: Vec<Tensor> =
            expected[index].iter().map(|like| Tensor::zeros(like.dtype(), like.sizes()).unwrap()).collect();
        let mut lent: Vec<TensorViewMut<'_>> =
            results.iter_mut().map(|result| result.view_mut().unwrap()).collect();
        runners[1].run_into(&views, &mut lent).unwrap();
        drop(lent);
        assert_same(&results, &expected[index], &what);
    }
}

/// The bound runs of an executable, one for each list of sizes of the inputs.
struct BoundRuns<'a> {
    exe: &'a Executable,
    runs: Vec<(Vec<Vec<usize>>, BoundRun)>,
}

impl BoundRuns<'_> {
    fn run(&mut self, feeds: &[Tensor]) -> Vec<Tensor> {
        let sizes: Vec<Vec<usize>> = feeds.iter().map(|feed| feed.sizes().to_vec()).collect();
        let known = self.runs.iter().position(|(known, _)| *known == sizes).unwrap_or_else(|| {
            let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
            self.runs.push((sizes, self.exe.bind(&views).unwrap()));
            self.runs.len() - 1
        });
        let bound = &mut self.runs[known].1;
        for (number, feed) in feeds.iter().enumerate() {
            bound.set_input(number, feed).unwrap();
        }
        bound.run().unwrap();
        let outputs = 0..self.exe.outputs().len();
        outputs.map(|output| bound.output(output).unwrap().to_tensor().unwrap()).collect()
    }
}

/// Compiles a new executable for the interpreter, and runs it.
fn run_fresh(graph: &Graph, outputs: &[Value<'_>], feeds: &[Tensor]) -> Vec<Tensor> {
    let options = CompileOptions::new().backend(Backend::Interpreter);
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    graph.compile_with(&options, outputs).unwrap().run_all(&views).unwrap()
}

/// Compares the results of new executables with the results of loops, then the results of one executable with them.
fn check(
    graph: &Graph,
    outputs: &[Value<'_>],
    feeds: &[Vec<Tensor>],
    by_loops: impl Fn(&[Tensor]) -> Vec<Tensor>,
    what: &str,
    draws: &mut Draws,
) {
    let expected: Vec<Vec<Tensor>> = feeds.iter().map(|feeds| run_fresh(graph, outputs, feeds)).collect();
    for (feeds, expected) in feeds.iter().zip(&expected) {
        assert_same(expected, &by_loops(feeds), &format!("{what} of {feeds:?} by loops"));
    }
    run_in_turn(&graph.compile(outputs).unwrap(), feeds, &expected, what, draws);
}

#[test]
fn every_structure_operand_gives_the_results_of_a_new_executable() {
    let registry = crate::op::Registry::builtin();
    for def in registry.iter() {
        let Some(parameter) = fed_parameter(def) else { continue };
        if PROGRAMS.iter().any(|program| program.op == def.name()) {
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
            let what = format!("{} of {shape}", def.name());
            check(&graph, &outputs, &feeds, |feeds| naive(def.name(), feeds), &what, &mut draws);
        }
    }
}

#[test]
fn programs_of_operands_of_several_sizes_give_the_results_of_a_new_executable() {
    for Program { op, build, draw, naive } in PROGRAMS {
        for is_ranked in [true, false] {
            let graph = Graph::new();
            let outputs = build(&graph, is_ranked).unwrap_or_else(|error| panic!("{op}: {error}"));
            let mut draws = Draws(0x2545_f491_4f6c_dd1d);
            let feeds: Vec<Vec<Tensor>> = (0..12).map(|_| draw(&mut draws, is_ranked)).collect();
            let what = format!("{op}, {}", if is_ranked { "ranked" } else { "unranked" });
            check(&graph, &outputs, &feeds, naive, &what, &mut draws);
        }
    }
}

#[test]
fn sizes_that_determine_a_rank_give_the_results_of_a_new_executable() {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape![?, ?, ?]).unwrap();
    let outputs = [x.squeeze(..).unwrap()];
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

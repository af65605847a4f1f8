//! `cond` and `case`: nodes that run one of several regions.

use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, TensorShape};

use super::node::{RegionOperands, add_node, refused, with_origin};
use super::recorder::{Recorded, Recorder, Region};
use crate::compile::{CompileOptions, IntoOutputs};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Executable;
use crate::graph::{Graph, Value};
use crate::op::{BranchesForm, CompiledControl, Control, ControlForm, HostCx, HostKernel, Programs};
use crate::ops::logical::select;
use crate::tensor::{Tensor, TensorView};

/// A branch of [`Graph::case`].
type Branch<'a, 'g> = &'a dyn Fn() -> Result<Vec<Value<'g>>>;

impl Graph {
    /// Computes `then` if the predicate is true, and `otherwise` if it is false.
    ///
    /// `predicate bool[]`. Both closures return the same number of values, of the same dtypes. The shape of a result is
    /// the most specific one that both branches allow. A closure may use any value of the graph. The branch that is not
    /// taken does not run, so it cannot fail. If the predicate depends only on constants, the graph gets the nodes of
    /// one branch and no node of control flow, and the closure of the other branch is not called. As TensorFlow's `If`
    /// and `tf.cond`. Runs on the host; each branch is compiled. If both branches are cheap, the compiler computes both
    /// and selects a result, which fuses into kernels. A branch is cheap if it has at most 8 nodes, if each of its
    /// values has a known size and at most 64 elements, and if no node of the branch may fail or runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let (x, is_small) = (g.input("x", DType::F32, shape!["n"])?, g.input("is_small", DType::Bool, shape![])?);
    /// let y = g.cond(is_small, || Ok(x * 100.0), || Ok(x))?;
    /// assert_eq!(y[0].shape().to_string(), "[n]");
    /// let exe = g.compile(&y)?;
    /// let [y] = exe.run(&[TensorView::new(&[2], &[1.0f32, 2.0])?, TensorView::new(&[], &[true])?])?;
    /// assert_eq!(y.to_vec::<f32>()?, [100.0, 200.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The predicate is not a bool scalar; a closure fails; the branches differ in the number or the dtypes of their
    /// values. If the predicate depends only on constants, only the closure of the taken branch counts.
    #[doc(alias = "if_else")]
    #[doc(alias = "where")]
    #[track_caller]
    pub fn cond<'g, T: IntoOutputs<'g>, E: IntoOutputs<'g>>(
        &'g self,
        predicate: Value<'g>,
        then: impl FnOnce() -> Result<T>,
        otherwise: impl FnOnce() -> Result<E>,
    ) -> Result<Vec<Value<'g>>> {
        let (mut then, mut otherwise) = (Some(then), Some(otherwise));
        // Branch 0 is `otherwise`, because false is 0; branch 1 is `then`.
        let mut build = |branch: usize| match branch {
            0 => otherwise.take().expect("each branch is built once")().map(values_of),
            _ => then.take().expect("each branch is built once")().map(values_of),
        };
        let location = Location::caller();
        if predicate.ok()?.dtype() != DType::Bool {
            let message = format!("the predicate must be bool, got {}", predicate.dtype());
            let error = refused(ErrorKind::DType, "cond", message, location);
            return Err(with_origin(error, "the predicate", predicate));
        }
        self.select_branch("cond", predicate, &["else", "then"], true, &mut build, location)
    }

    /// Computes the branch with number `index`. An index outside the list selects the last branch.
    ///
    /// `index i32[]`. Shapes and dtypes are as for [`Graph::cond`]. As TensorFlow's `Case` and `tf.switch_case`. Runs
    /// on the host; each branch is compiled.
    ///
    /// # Errors
    /// There is no branch, or the index is not an i32 scalar; else as [`Graph::cond`].
    #[doc(alias = "switch")]
    #[doc(alias = "switch_case")]
    #[track_caller]
    pub fn case<'g>(&'g self, index: Value<'g>, branches: &[Branch<'_, 'g>]) -> Result<Vec<Value<'g>>> {
        let location = Location::caller();
        if index.ok()?.dtype() != DType::I32 {
            let message = format!("the index must be i32, got {}", index.dtype());
            return Err(with_origin(
                refused(ErrorKind::DType, "case", message, location),
                "the index",
                index,
            ));
        }
        let names: Vec<String> = (0..branches.len()).map(|number| format!("branch{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.select_branch("case", index, &names, true, &mut |number| branches[number](), location)
    }

    /// Adds a node that runs the branch with number `selector`: a bool, for two branches, or an i32. `build` builds
    /// each branch once, in any order.
    ///
    /// # Errors
    /// As [`Graph::case`].
    pub(crate) fn select_branch<'g>(
        &'g self,
        op: &'static str,
        selector: Value<'g>,
        names: &[&str],
        is_scoped: bool,
        build: &mut dyn FnMut(usize) -> Result<Vec<Value<'g>>>,
        location: &'static Location<'static>,
    ) -> Result<Vec<Value<'g>>> {
        let refuse = |kind, message: String| Err(refused(kind, op, message, location));
        if names.is_empty() {
            return refuse(ErrorKind::Attribute, "there must be a branch, got none".to_string());
        }
        let role = if op == "cond" { "the predicate" } else { "the index" };
        self.check_own(role, selector).map_err(|error| error.with_op(op, op).at(location))?;
        let shape = selector.shape();
        if shape.rank().is_some_and(|rank| rank != 0) {
            return refuse(ErrorKind::Shape, format!("{role} must be a scalar, got shape {shape}"))
                .map_err(|error| with_origin(error, role, selector));
        }
        let constant = self.read().const_fold(selector.index()?);
        if let Some(constant) = constant {
            return build(chosen(&constant.view(), names.len())?);
        }
        let mut record = |number: usize| {
            let recorder = Recorder::open(self, names[number], is_scoped, location)?;
            let values = build(number)?;
            recorder.finish(&values)
        };
        let recorded: Vec<Recorded<'g>> = (0..names.len()).map(&mut record).collect::<Result<_>>()?;
        let results = merge(&recorded).map_err(|error| error.with_op(op, op).at(location))?;
        let mut operands = RegionOperands { values: vec![selector] };
        let captures = recorded.iter().map(|recorded| operands.add(recorded, 1)).collect();
        let regions = recorded.into_iter().map(|recorded| recorded.region).collect();
        let is_by_bool = selector.dtype() == DType::Bool;
        let control = Arc::new(Branches { regions, captures, is_by_bool });
        add_node(self, op, control, &operands.values, &results, location)
    }
}

fn values_of<'g>(outputs: impl IntoOutputs<'g>) -> Vec<Value<'g>> {
    outputs.into_outputs().into_iter().map(|(_, value)| value).collect()
}

/// Returns the dtypes and shapes that all branches allow.
///
/// # Errors
/// The branches differ in the number or the dtypes of their outputs.
fn merge(branches: &[Recorded<'_>]) -> Result<Vec<(DType, TensorShape)>> {
    let last = branches.last().expect("there is a branch");
    let fail = |kind, message: String| Err(Error::new(kind, crate::error::Phase::Build, message));
    for branch in branches.iter().rev() {
        let (got, expected) = (branch.results.len(), last.results.len());
        if got != expected {
            let message = format!(
                "all branches must return the same number of values, {} returns {expected} and {} returns {got}",
                last.region.name(),
                branch.region.name()
            );
            return fail(ErrorKind::Attribute, message);
        }
        for (number, ((got, _), (expected, _))) in branch.results.iter().zip(&last.results).enumerate() {
            if got != expected {
                let message = format!(
                    "output {number} must have one dtype in all branches, {} gives {expected} and {} gives {got}",
                    last.region.name(),
                    branch.region.name()
                );
                return fail(ErrorKind::DType, message).map_err(|error| {
                    let error = last.with_origin(error, number);
                    branch.with_origin(error, number)
                });
            }
        }
    }
    let shapes = last.results.iter().enumerate().map(|(number, (dtype, shape))| {
        let others = branches[..branches.len() - 1].iter().map(|branch| &branch.results[number].1);
        (*dtype, shape.most_specific_common_supertype(others))
    });
    Ok(shapes.collect())
}

/// Returns the branch that a selector chooses among `count`.
///
/// # Errors
/// The selector is not a scalar.
fn chosen(selector: &TensorView<'_>, count: usize) -> Result<usize> {
    if selector.dtype() == DType::Bool {
        return selector.item::<bool>().map(usize::from);
    }
    let index = selector.item::<i32>()?;
    Ok(usize::try_from(index).unwrap_or(usize::MAX).min(count - 1))
}

/// The regions of a branch. A run computes one of them.
struct Branches {
    regions: Vec<Region>,
    /// For each region, the operands that it captures.
    captures: Vec<Vec<usize>>,
    /// Whether the selector is a bool: false selects region 0, and true region 1.
    is_by_bool: bool,
}

impl Control for Branches {
    fn compile(&self, options: &dyn Any) -> Result<CompiledControl> {
        let options = compile_options(options);
        let mut branches = Vec::with_capacity(self.regions.len());
        let mut programs: Programs = Vec::with_capacity(self.regions.len());
        for (region, captures) in self.regions.iter().zip(&self.captures) {
            // A branch that returns nothing computes nothing.
            let program = match region.outputs() {
                0 => None,
                _ => Some(region.compile(options)?),
            };
            programs.push(program.as_ref().map(Executable::to_any));
            branches.push(CompiledBranch {
                program,
                captures: captures.clone(),
                name: region.name().to_string(),
            });
        }
        Ok(CompiledControl { kernel: Arc::new(BranchKernel(branches)), programs })
    }

    fn own_operands(&self) -> usize {
        1
    }

    fn regions(&self) -> Vec<&dyn Any> {
        self.regions.iter().map(Region::as_any).collect()
    }

    fn form(&self) -> ControlForm<'_> {
        let regions = self.regions.iter().zip(&self.captures);
        let regions = regions.map(|(region, captures)| region.as_body(captures)).collect();
        ControlForm::Branches(BranchesForm { regions, select: self.is_by_bool.then_some(&select::DEF) })
    }
}

/// Returns the options that `Control::compile` gets.
pub(super) fn compile_options(options: &dyn Any) -> &CompileOptions {
    options.downcast_ref().expect("graphs are compiled with `CompileOptions`")
}

struct CompiledBranch {
    program: Option<Executable>,
    captures: Vec<usize>,
    name: String,
}

struct BranchKernel(Vec<CompiledBranch>);

impl HostKernel for BranchKernel {
    fn trim(&self) {
        self.0.iter().filter_map(|branch| branch.program.as_ref()).for_each(Executable::trim);
    }

    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        let branch = &self.0[chosen(&cx.input(0)?, self.0.len())?];
        let Some(program) = &branch.program else { return Ok(()) };
        let inputs: Vec<TensorView<'_>> =
            branch.captures.iter().map(|&operand| cx.input(operand)).collect::<Result<_>>()?;
        let results: Vec<Tensor> = program
            .run_until(&inputs, cx.cancel())
            .map_err(|error| error.note(format!("in branch {}", branch.name), None))?;
        for (number, tensor) in results.into_iter().enumerate() {
            cx.set_output(number, tensor)?;
        }
        Ok(())
    }
}

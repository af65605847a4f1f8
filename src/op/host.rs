//! `HostKernel`: a kernel written in Rust; `HostCx`: its inputs, attributes and memory for outputs.

#[cfg(feature = "strings")]
use std::sync::Arc;

use shapeflow_shape_fns::{Attrs, DType};

use super::cancel::Cancel;
use super::host_threads::HostThreads;
use super::prepared::NodePreparation;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{BufferPool, Tensor, TensorRole, TensorView, TensorViewMut};

/// Maximum number of tensor lists that lie one inside the other. Dropping and comparing lists recurses into their
/// items.
const MAX_LIST_DEPTH: usize = 256;

/// A kernel written in Rust: for sorts, scans, output shapes that depend on data, and users' own code.
pub trait HostKernel: Send + Sync + 'static {
    /// Computes all outputs. A panic becomes an error of the run.
    ///
    /// # Errors
    /// The inputs are unsuitable; see [`Error::msg`] and [`Error::wrap`].
    fn run(&self, cx: &mut HostCx<'_>) -> Result<()>;

    /// Returns whether equal inputs always give equal results. The compiler then runs equal calls once. The default is
    /// `false`.
    fn is_pure(&self) -> bool {
        false
    }

    /// Frees the memory that the kernel keeps for later runs.
    #[doc(hidden)]
    fn trim(&self) {}

    /// Returns the keys and the values of the table in which the kernel looks up the elements of its first input. There
    /// is no table by default.
    #[doc(hidden)]
    fn table(&self) -> Option<[&Tensor; 2]> {
        None
    }

    /// If the kernel cannot be saved to a file, returns what it is, for the error. A kernel cannot be saved if it has
    /// state besides the attributes of the op and [`HostKernel::table`]. By default a file holds the name of the op
    /// only.
    #[doc(hidden)]
    fn unwritable(&self) -> Option<&'static str> {
        None
    }
}

impl<F: Fn(&mut HostCx<'_>) -> Result<()> + Send + Sync + 'static> HostKernel for F {
    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        self(cx)
    }
}

/// What a run gives a [`HostCx`]: memory for outputs, a slot for prepared data, threads, and the cancellation token.
#[derive(Default)]
pub(crate) struct OutputAllocator<'a> {
    /// Free memory of earlier tensors.
    pub pool: Option<&'a BufferPool>,
    /// The caller's memory for each output, used if the sizes agree. Missing entries lend nothing.
    pub lent: Vec<Option<TensorViewMut<'a>>>,
    /// The slot for the kernel's prepared data, and which operands are constants.
    pub prepared: Option<NodePreparation<'a>>,
    /// The threads of the run.
    pub threads: HostThreads<'a>,
    /// The cancellation token of the run.
    pub cancel: Cancel<'a>,
    /// Whether output 0 may share the memory of input 0.
    pub may_share_input: bool,
}

/// Where an output was stored.
pub(crate) enum HostOutput {
    /// In a tensor of its own.
    Tensor(Tensor),
    /// In the memory that the caller lent for the output.
    Borrowed,
    /// In the memory of input 0. The output has the elements of input 0, and these sizes.
    SharesInput(Vec<usize>),
}

/// An output of a call.
struct Output<'a> {
    dtype: DType,
    lent: Option<TensorViewMut<'a>>,
    made: Option<HostOutput>,
}

/// What a host kernel gets: inputs, attributes, and memory for its outputs.
///
/// Before the kernel runs, the dtype rule and the shape function have accepted the dtypes and sizes of the inputs, and
/// the elements of operands that are parameters. The kernel checks what they cannot know, such as the elements of data.
///
/// ```
/// use shapeflow::{DType, Graph, HostCx, OpDef, Operand, Result, TensorView, shape, shape_fns};
///
/// fn run(cx: &mut HostCx<'_>) -> Result<()> {
///     let x = cx.input(0)?;
///     let mut y = cx.unfilled_output(0, x.sizes())?;
///     for (y, x) in y.as_mut_slice::<f32>()?.iter_mut().zip(x.as_slice::<f32>()?) {
///         *y = x.trunc();
///     }
///     Ok(())
/// }
///
/// static TRUNC: OpDef =
///     OpDef::host("trunc", run).operands(&[Operand::Data("x")]).shape_fn(shape_fns::common::unary);
///
/// let g = Graph::new();
/// let x = g.input("x", DType::F32, shape!["n"])?;
/// let exe = g.compile(g.op(&TRUNC).data(x).finish()?)?;
/// let [y] = exe.run(&[TensorView::new(&[2], &[1.5f32, -2.5])?])?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, -2.0]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
pub struct HostCx<'a> {
    inputs: &'a [TensorView<'a>],
    attrs: &'a Attrs,
    pool: Option<&'a BufferPool>,
    outputs: Vec<Output<'a>>,
    #[cfg_attr(not(feature = "strings"), expect(dead_code, reason = "only string ops prepare something"))]
    prepared: Option<NodePreparation<'a>>,
    threads: HostThreads<'a>,
    cancel: Cancel<'a>,
    may_share_input: bool,
}

impl<'a> HostCx<'a> {
    pub(crate) fn new(
        inputs: &'a [TensorView<'a>],
        attrs: &'a Attrs,
        dtypes: impl Iterator<Item = DType>,
        mut allocator: OutputAllocator<'a>,
    ) -> HostCx<'a> {
        let lent = std::mem::take(&mut allocator.lent).into_iter().chain(std::iter::repeat_with(|| None));
        // The kernel stores only elements of a fixed size in lent memory: strings are copied there after the run, and
        // lists stay in tensors.
        let outputs = dtypes.zip(lent).map(|(dtype, lent)| Output {
            dtype,
            lent: lent.filter(|lent| lent.dtype() == dtype && dtype.size_bytes().is_some()),
            made: None,
        });
        let OutputAllocator { pool, prepared, threads, cancel, may_share_input, .. } = allocator;
        HostCx { inputs, attrs, pool, outputs: outputs.collect(), prepared, threads, cancel, may_share_input }
    }

    /// Returns where each output was stored, and its sizes; `None` for an output that the kernel has not made.
    pub(crate) fn finish(self) -> impl Iterator<Item = Option<(HostOutput, Vec<usize>)>> {
        self.outputs.into_iter().map(|output| {
            let sizes = match (&output.made, &output.lent) {
                (Some(HostOutput::SharesInput(sizes)), _) => sizes.clone(),
                (Some(HostOutput::Tensor(tensor)), _) => tensor.sizes().to_vec(),
                (Some(HostOutput::Borrowed), Some(lent)) => lent.sizes().to_vec(),
                _ => return None,
            };
            Some((output.made?, sizes))
        })
    }

    /// Returns the number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Returns the number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Returns the data that `make` prepares from the attributes and from these operands. If all these operands are
    /// constants, `make` runs once for all runs. A kernel prepares one value only.
    ///
    /// # Errors
    /// The errors of `make`.
    #[cfg(feature = "strings")]
    pub(crate) fn prepared<T: Send + Sync + 'static>(
        &self,
        operands: &[usize],
        make: impl FnOnce(&HostCx<'_>) -> Result<T>,
    ) -> Result<Arc<T>> {
        match self.prepared.filter(|node| node.are_constant(operands)) {
            Some(node) => node.get_or_make(|| make(self)),
            None => make(self).map(Arc::new),
        }
    }

    /// Returns input `i`.
    ///
    /// # Errors
    /// There is no input `i`.
    pub fn input(&self, i: usize) -> Result<TensorView<'a>> {
        match self.inputs.get(i) {
            Some(input) => Ok(input.clone().with_role(TensorRole::Input(i as u32))),
            None => Err(Error::msg(format!("there is no input {i}, only {}", self.inputs.len()))),
        }
    }

    /// Returns the node's attributes.
    pub fn attrs(&self) -> &'a Attrs {
        self.attrs
    }

    /// Returns the threads among which the kernel may divide its work.
    pub(crate) fn threads(&self) -> HostThreads<'a> {
        self.threads
    }

    /// Returns whether another thread cancels the run, see [`Runner::cancel`](crate::Runner::cancel). A kernel that
    /// runs long may ask at times, and return an error.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Returns the cancellation token of the run, for a kernel that passes it to the graphs that it runs.
    pub(crate) fn cancel(&self) -> Cancel<'a> {
        self.cancel
    }

    /// Returns zeroed memory for output `i`, which the kernel fills. The memory is the caller's if the caller lent some
    /// for this output.
    ///
    /// # Errors
    /// There is no output `i`, or memory is refused.
    pub fn output(&mut self, i: usize, sizes: &[usize]) -> Result<TensorViewMut<'_>> {
        self.allocate(i, sizes, true)?;
        self.slot(i)?.view(i)
    }

    /// Does the same as [`HostCx::output`] without zeroing the memory, for a kernel that writes every element.
    ///
    /// # Errors
    /// As [`HostCx::output`].
    pub fn unfilled_output(&mut self, i: usize, sizes: &[usize]) -> Result<TensorViewMut<'_>> {
        self.allocate(i, sizes, false)?;
        self.slot(i)?.view(i)
    }

    /// Does the same as [`HostCx::unfilled_output`] for the first outputs, one for each entry of `sizes`.
    pub(crate) fn unfilled_outputs(&mut self, sizes: &[Vec<usize>]) -> Result<Vec<TensorViewMut<'_>>> {
        for (i, sizes) in sizes.iter().enumerate() {
            self.allocate(i, sizes, false)?;
        }
        self.outputs[..sizes.len()].iter_mut().enumerate().map(|(i, output)| output.view(i)).collect()
    }

    /// Gives output 0 the elements of input 0, for a kernel that only checks these elements. Copies the elements,
    /// unless the program lets input and output share memory: see [`OpDef::reinterprets`](super::OpDef::reinterprets).
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn pass_on(&mut self) -> Result<()> {
        let input = self.input(0)?;
        if self.may_share_input {
            self.slot(0)?.made = Some(HostOutput::SharesInput(input.sizes().to_vec()));
            return Ok(());
        }
        match input.dtype().size_bytes() {
            Some(_) => self.unfilled_output(0, input.sizes())?.copy_from(input),
            None => self.set_output(0, input.to_tensor()?),
        }
    }

    /// Stores a finished tensor as output `i`.
    ///
    /// # Errors
    /// There is no output `i`, the tensor has another dtype than the dtype rule promised, or more than 256 lists lie
    /// one inside the other.
    pub fn set_output(&mut self, i: usize, tensor: Tensor) -> Result<()> {
        let output = self.slot(i)?;
        if tensor.dtype() != output.dtype {
            let message = format!("output {i} must be {}, got {}", output.dtype, tensor.dtype());
            return Err(Error::msg(message));
        }
        let depth = tensor.view().list_depth();
        if depth > MAX_LIST_DEPTH {
            let message = format!("tensor lists may nest at most {MAX_LIST_DEPTH} levels, got {depth}");
            return Err(Error::new(ErrorKind::Memory, Phase::Run, message));
        }
        output.made = Some(HostOutput::Tensor(tensor));
        Ok(())
    }

    fn slot(&mut self, i: usize) -> Result<&mut Output<'a>> {
        let count = self.outputs.len();
        self.outputs.get_mut(i).ok_or_else(|| Error::msg(format!("there is no output {i}, only {count}")))
    }

    /// Allocates memory for output `i`, zeroed or not.
    fn allocate(&mut self, i: usize, sizes: &[usize], zeroed: bool) -> Result<()> {
        let pool = self.pool;
        let output = self.slot(i)?;
        let dtype = output.dtype;
        if let Some(lent) = output.lent.as_mut().filter(|lent| lent.sizes() == sizes) {
            if zeroed {
                lent.bytes_mut().fill(0);
            }
            output.made = Some(HostOutput::Borrowed);
            return Ok(());
        }
        let tensor = match pool {
            Some(pool) if zeroed => pool.zeros(dtype, sizes),
            Some(pool) => pool.allocate(dtype, sizes),
            None if zeroed => Tensor::zeros(dtype, sizes),
            None => Tensor::allocate(dtype, sizes),
        };
        let tensor = tensor.map_err(|error| error.about(TensorRole::Output(i as u32)))?;
        output.made = Some(HostOutput::Tensor(tensor));
        Ok(())
    }
}

impl Output<'_> {
    /// Returns the memory of output `i`.
    fn view(&mut self, i: usize) -> Result<TensorViewMut<'_>> {
        let view = match (&mut self.made, &mut self.lent) {
            (Some(HostOutput::Tensor(tensor)), _) => tensor.view_mut()?,
            (Some(HostOutput::Borrowed), Some(lent)) => lent.reborrow(),
            _ => return Err(Error::msg(format!("output {i} has no memory"))),
        };
        Ok(view.with_role(TensorRole::Output(i as u32)))
    }
}

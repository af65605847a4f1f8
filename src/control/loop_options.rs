//! `LoopOptions`: a limit on the iterations of a loop, a token that cancels it, and declared shapes of its state.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shapeflow_shape_fns::{TensorShape, counted};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::Cancel;

/// Options of a loop.
///
/// ```
/// use shapeflow::{Graph, LoopOptions};
///
/// let g = Graph::new();
/// let start = g.constant(0i64)?;
/// let options = LoopOptions::new().limit(10);
/// let endless = g.while_loop_with(&options, &[start], |s| s[0].greater_equal(0i64), |s| Ok(s[0] + 1i64))?;
/// let error = g.compile(&endless)?.run::<1>(&[]).unwrap_err();
/// assert!(error.message().contains("at most 10 iterations"));
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LoopOptions {
    limit: Option<u64>,
    cancel: Option<Arc<AtomicBool>>,
    shapes: Vec<(usize, TensorShape)>,
}

impl LoopOptions {
    /// Returns the default options: no limit, no token, and shapes of the state that inference finds.
    pub fn new() -> LoopOptions {
        LoopOptions::default()
    }

    /// Refuses a run in which the loop needs more iterations.
    pub fn limit(mut self, iterations: u64) -> LoopOptions {
        self.limit = Some(iterations);
        self
    }

    /// Ends a run with an error once the token is true. The loop reads the token before each iteration.
    /// [`Runner::cancel`](crate::Runner::cancel) ends any run, also between the kernels of an iteration.
    pub fn cancel(mut self, token: Arc<AtomicBool>) -> LoopOptions {
        self.cancel = Some(token);
        self
    }

    /// Declares the shape of state value `index` in every iteration. Without a declaration, the shape has the rank of
    /// the initial value, and is the most specific shape that the initial value and the body allow. `shape![..]` allows
    /// any rank. If inference does not find the declared shape for the result of the body, let the body end in
    /// [`Value::ensure_shape`](crate::Value::ensure_shape). As TensorFlow's `shape_invariants`.
    pub fn shape(mut self, index: usize, shape: impl Into<TensorShape>) -> LoopOptions {
        self.shapes.push((index, shape.into()));
        self
    }

    /// Returns the options without declared shapes.
    #[cfg(feature = "graphdef")]
    pub(crate) fn without_shapes(mut self) -> LoopOptions {
        self.shapes.clear();
        self
    }

    /// Adds a limit to these options. The smaller of two limits holds.
    #[cfg(feature = "graphdef")]
    pub(crate) fn at_most(mut self, iterations: u64) -> LoopOptions {
        self.limit = Some(self.limit.map_or(iterations, |limit| limit.min(iterations)));
        self
    }

    /// Returns the maximum number of iterations.
    pub(super) fn iteration_limit(&self) -> Option<u64> {
        self.limit
    }

    /// Returns whether a token may end the loop.
    pub(super) fn has_token(&self) -> bool {
        self.cancel.is_some()
    }

    /// Returns the declared shape of state value `index`.
    pub(super) fn declared_shape(&self, index: usize) -> Option<&TensorShape> {
        self.shapes.iter().rev().find(|(declared, _)| *declared == index).map(|(_, shape)| shape)
    }

    /// If a shape is declared for a state value that does not exist, returns its index. The loop has `count` state
    /// values.
    pub(super) fn unknown_index(&self, count: usize) -> Option<usize> {
        self.shapes.iter().map(|(index, _)| *index).find(|index| *index >= count)
    }

    /// Checks that iteration number `iteration`, counted from 0, may begin.
    ///
    /// # Errors
    /// The limit is reached, the token of the loop is true, or the run is cancelled.
    #[inline]
    pub(super) fn check(&self, iteration: u64, cancel: Cancel<'_>) -> Result<()> {
        if self.limit.is_some_and(|limit| iteration >= limit) {
            return Err(self.limit_reached());
        }
        match &self.cancel {
            Some(token) if token.load(Ordering::Relaxed) => Err(cancelled(iteration)),
            _ if cancel.is_cancelled() => Err(cancelled(iteration)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn limit_reached(&self) -> Error {
        let limit = self.limit.unwrap_or_default();
        let message = format!(
            "the loop must end after at most {limit}, got one more",
            limit = counted(limit, "iteration")
        );
        Error::new(ErrorKind::Guard, Phase::Run, message)
    }
}

#[cold]
fn cancelled(iteration: u64) -> Error {
    let message = format!("the loop was cancelled before iteration {iteration}");
    Error::new(ErrorKind::Cancelled, Phase::Run, message)
}

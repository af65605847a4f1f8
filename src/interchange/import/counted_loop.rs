//! `counted_loop`: a loop whose body and condition know the number of the iteration, because they draw random numbers.

use std::panic::Location;

use crate::control::{LoopOptions, LoopRegions};
use crate::error::Result;
use crate::graph::{Graph, Value};
use crate::tensor::Tensor;

/// A closure of a loop. It gets the state and the number of the iteration, counted from 0, as a scalar of u64. There is
/// no number if the loop does not count.
type Closure<'r, 'g, T> = &'r mut dyn FnMut(&[Value<'g>], Option<Value<'g>>) -> Result<T>;

/// The closures of a loop.
pub(super) struct CountedRegions<'r, 'g> {
    pub condition: Closure<'r, 'g, Value<'g>>,
    pub body: Closure<'r, 'g, Vec<Value<'g>>>,
    /// Whether the loop counts its iterations, in a further state value.
    pub needs_counter: bool,
}

/// Adds a loop of a model, and returns its last state.
///
/// # Errors
/// As [`Graph::while_loop_with`].
pub(super) fn counted_loop<'g>(
    graph: &'g Graph,
    options: &LoopOptions,
    state: &[Value<'g>],
    regions: CountedRegions<'_, 'g>,
    location: &'static Location<'static>,
) -> Result<Vec<Value<'g>>> {
    let CountedRegions { condition, body, needs_counter } = regions;
    let split = |state: &[Value<'g>]| match state.split_last() {
        Some((number, state)) if needs_counter => (state.to_vec(), Some(*number)),
        _ => (state.to_vec(), None),
    };
    let mut condition = |state: &[Value<'g>]| {
        let (state, number) = split(state);
        condition(&state, number)
    };
    let mut body = |state: &[Value<'g>]| {
        let (state, number) = split(state);
        let mut next = body(&state, number)?;
        if let Some(number) = number {
            next.push(number.add(graph.constant_at(Tensor::scalar(1u64), location))?);
        }
        Ok(next)
    };
    let mut initial = state.to_vec();
    if needs_counter {
        initial.push(graph.constant_at(Tensor::scalar(0u64), location));
    }
    let regions = LoopRegions { condition: &mut condition, body: &mut body, is_imported: true };
    let mut last = graph.while_regions(options, &initial, regions, location)?;
    last.truncate(state.len());
    Ok(last)
}

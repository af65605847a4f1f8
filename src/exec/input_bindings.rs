//! [`bind_inputs`]: binds symbols to the sizes of the inputs.

use shapeflow_shape_fns::{Attrs, DType, Dim, IntoDim, Symbol, TensorShape, Unknown, counted};

use super::bindings::{Bindings, DimMismatch};
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, NodeIx, ValueInfo};
use crate::ragged::{FLAT_VALUES, row_splits_of};

/// The sizes of an input do not fit its declaration.
#[derive(Clone, Copy)]
pub(super) struct Misfit<'a> {
    /// The number of the input.
    pub port: usize,
    /// The axis at fault; `None` if the rank is wrong.
    pub axis: Option<usize>,
    /// What the axis or the rank must be, such as `is n, which is 3 at axis 0 of input "x"`.
    pub requirement: &'a str,
}

/// Makes the error about an input whose sizes do not fit its declaration.
pub(super) type MakeError<'a> = dyn Fn(Misfit<'_>) -> Error + 'a;

/// Binds symbols to the sizes of the inputs, and to the values that the graph's equalities derive from these sizes.
///
/// # Errors
/// An input has another dtype or rank than its declaration, or the sizes of the inputs contradict the declarations of
/// the inputs.
pub(super) fn bind_inputs<'t>(graph: &'t GraphData, inputs: &[(DType, &[usize])]) -> Result<Bindings<'t>> {
    let misfit = |misfit: Misfit<'_>| {
        let (dtype, sizes) = inputs[misfit.port];
        let detail = match misfit.axis {
            Some(axis) => format!(": axis {axis} {}", misfit.requirement),
            None => format!(": the rank {}", misfit.requirement),
        };
        graph.refused_input(misfit.port, dtype, sizes, &detail)
    };
    bind_inputs_or(graph, inputs, &misfit)
}

/// Binds symbols as [`bind_inputs`] does. `misfit` makes the error about an input whose sizes do not fit.
///
/// # Errors
/// As [`bind_inputs`].
pub(super) fn bind_inputs_or<'t>(
    graph: &'t GraphData,
    inputs: &[(DType, &[usize])],
    misfit: &MakeError<'_>,
) -> Result<Bindings<'t>> {
    graph.name_errors(|| bind_each_input(graph, inputs, misfit))
}

fn bind_each_input<'t>(
    graph: &'t GraphData,
    inputs: &[(DType, &[usize])],
    misfit: &MakeError<'_>,
) -> Result<Bindings<'t>> {
    let mut bindings = Bindings::new(&graph.table);
    for (port, ((_, value), &(dtype, sizes))) in graph.inputs.iter().zip(inputs).enumerate() {
        let info = &graph.values[value.index()];
        if info.dtype != dtype {
            return Err(graph.refused_input(port, dtype, sizes, ""));
        }
        let Some(dims) = info.shape.dims() else { continue };
        if dims.len() != sizes.len() {
            let requirement = format!("must be {}", dims.len());
            let error = misfit(Misfit { port, axis: None, requirement: &requirement });
            return Err(match sizes_with_batch_axis(graph, dims, sizes) {
                Some(sizes) => error.with_help(format!("a single example is fed with sizes {sizes:?}")),
                None => error,
            });
        }
        bindings.bind_sizes(dims, sizes).map_err(|(axis, mismatch)| {
            if let Some(error) = other_number_of_rows(graph, (port, axis), &mismatch, &bindings) {
                return error;
            }
            let why = reason(graph, (port, axis), &mismatch.dim, &bindings);
            misfit(Misfit { port, axis: Some(axis), requirement: &mismatch.requirement(&why) })
        })?;
    }
    let solved = bindings.solve_deferred();
    bindings.bind_by_guards(graph.table.guards().iter());
    solved.map_err(|mismatch| broken_equality(graph, &bindings, &mismatch, misfit))?;
    Ok(bindings)
}

/// Returns the error about a ragged input with a wrong number of rows; `None` if the mismatch is not in row splits.
fn other_number_of_rows(
    graph: &GraphData,
    (port, axis): (usize, usize),
    mismatch: &DimMismatch,
    bindings: &Bindings<'_>,
) -> Option<Error> {
    let (name, value) = &graph.inputs[port];
    let (ragged, partition) = row_splits_of(name)?;
    let (rows, expected) = (&mismatch.dim - 1, mismatch.expected.filter(|_| mismatch.got > 0)?);
    let why = reason(graph, (port, axis), &rows, bindings);
    let place = along(partition);
    let relation = if rows.is_known() {
        String::new()
    } else {
        format!(": this number is {rows}, which is {}{why}", expected - 1)
    };
    let message = format!(
        "ragged input \"{ragged}\" must have {}{place}, got {}{relation}",
        counted(expected - 1, "row"),
        mismatch.got - 1
    );
    let location = graph.nodes[graph.values[value.index()].node.index()].location;
    Some(Error::new(ErrorKind::Feed, Phase::Run, message).note_declaration(location).with_input(ragged))
}

/// Returns `sizes` with a size of 1 in front, if an input with the longer sizes fits `dims`. The caller has then
/// probably fed one example without its batch axis.
fn sizes_with_batch_axis(graph: &GraphData, dims: &[Dim], sizes: &[usize]) -> Option<Vec<usize>> {
    let with_batch = [&[1], sizes].concat();
    let fits = dims.len() == with_batch.len()
        && dims.iter().zip(&with_batch).all(|(dim, size)| {
            let size = Dim::known(i64::try_from(*size).unwrap_or(i64::MAX));
            graph.table.same(dim, &size) != Some(false)
        });
    fits.then_some(with_batch)
}

/// Returns every axis of every input: the number of the input, the axis, and its dim.
fn input_axes(graph: &GraphData) -> impl Iterator<Item = (usize, usize, &Dim)> {
    graph.inputs.iter().enumerate().flat_map(|(port, (_, value))| {
        let dims = graph.values[value.index()].shape.dims().unwrap_or_default();
        dims.iter().enumerate().map(move |(axis, dim)| (port, axis, dim))
    })
}

/// Returns text that tells where the value of a dim comes from. If an axis before `end` has this dim, the text names
/// the axis: ` at axis 0 of input "x"`. Otherwise the text gives the value of each symbol of the dim, with an axis:
/// ` where n is 3 at axis 0 of input "x"`.
fn reason(graph: &GraphData, end: (usize, usize), dim: &Dim, bindings: &Bindings<'_>) -> String {
    axis_with(graph, end, &|other| other == dim).or_else(|| rows_with(graph, end, dim)).unwrap_or_else(|| {
        bindings.values_in(dim, &|symbol| {
            let place = rows_with(graph, end, &Dim::from(symbol));
            place.or_else(|| axis_with(graph, end, &|dim| has_symbol(dim, symbol))).unwrap_or_default()
        })
    })
}

/// Returns ` along axis 1` for the rows of partition 1; nothing for the rows of the outermost partition.
fn along(partition: usize) -> String {
    if partition == 0 { String::new() } else { format!(" along axis {partition}") }
}

/// Returns `, the number of rows of ragged input "r"` for the first ragged input before `end` that has `rows` rows.
fn rows_with(graph: &GraphData, end: (usize, usize), rows: &Dim) -> Option<String> {
    let splits = rows + 1;
    let mut axes = input_axes(graph).take_while(|(port, axis, _)| (*port, *axis) < end);
    axes.find_map(|(port, _, dim)| {
        let (ragged, partition) = row_splits_of(&graph.inputs[port].0)?;
        let place = along(partition);
        (graph.table.resolve(dim) == splits)
            .then(|| format!(", the number of rows{place} of ragged input \"{ragged}\""))
    })
}

/// Returns ` at axis 0 of input "x"` for the first axis before `end` whose dim meets a condition. An axis of flat
/// values is an axis of their ragged input.
fn axis_with(graph: &GraphData, end: (usize, usize), holds: &dyn Fn(&Dim) -> bool) -> Option<String> {
    let mut axes = input_axes(graph).take_while(|(port, axis, _)| (*port, *axis) < end);
    let (port, axis, _) = axes.find(|(_, _, other)| holds(&graph.table.resolve(other)))?;
    let name = &graph.inputs[port].0;
    let Some(ragged) = name.strip_suffix(FLAT_VALUES) else {
        return Some(format!(" at axis {axis} of input \"{name}\""));
    };
    Some(match axis {
        0 => format!(", the number of values of ragged input \"{ragged}\""),
        _ => format!(" at axis {} of ragged input \"{ragged}\"", axis + partitions_of(graph, ragged)),
    })
}

/// Returns the error about a ragged feed whose rows do not fit their input. `got` is the type of the feed, and `misfit`
/// is about the flat values.
pub(super) fn ragged_misfit(graph: &GraphData, ragged: &str, got: &str, misfit: Misfit<'_>) -> Error {
    let info = &graph.values[graph.inputs[misfit.port].1.index()];
    let partitions = partitions_of(graph, ragged);
    let splits = graph.inputs.iter().find(|(name, _)| row_splits_of(name) == Some((ragged, 0)));
    let splits = splits.and_then(|(_, value)| graph.values[value.index()].shape.dim(0));
    let rows = splits.map_or_else(|| Unknown.into_dim(), |count| graph.table.resolve(count) - 1);
    let ragged_axes = (0..partitions).map(|_| Unknown.into_dim());
    let inner = info.shape.dims().unwrap_or_default().iter().skip(1).map(|dim| graph.table.resolve(dim));
    let shape = TensorShape::new(std::iter::once(rows).chain(ragged_axes).chain(inner));
    let requirement = misfit.requirement;
    let detail = match misfit.axis {
        None => format!(": the rank must be {}", shape.rank().unwrap_or_default()),
        Some(0) => format!(": the number of values {requirement}"),
        Some(axis) => format!(": axis {} {requirement}", axis + partitions),
    };
    let declared = type_text(info.dtype, &shape);
    let message = format!("ragged input \"{ragged}\" must be {declared}, got {got}{detail}");
    graph.refused_input_with(misfit.port, message, &detail).with_input(ragged)
}

/// Returns the number of partitions of a ragged input.
fn partitions_of(graph: &GraphData, ragged: &str) -> usize {
    let parts = graph.inputs.iter().filter_map(|(name, _)| row_splits_of(name));
    parts.filter(|(name, _)| *name == ragged).count()
}

fn has_symbol(dim: &Dim, symbol: Symbol) -> bool {
    let mut found = false;
    dim.symbols(&mut |other| found |= other == symbol);
    found
}

/// Adds notes to an error of a node: the values of the named symbols in the node's attributes, with the axes of the
/// inputs that give these values: `n is 3 at axis 0 of input "x"`. The value of a symbol that is an element has the
/// node of the element: `k is 5, from count`.
pub(super) fn note_attr_symbols(
    graph: &GraphData,
    attrs: &Attrs,
    bindings: &Bindings<'_>,
    error: Error,
) -> Error {
    let mut symbols: Vec<Symbol> = Vec::new();
    // The call substitutes nothing. It visits every symbol.
    let _ = attrs.substitute(&mut |symbol| {
        if !symbol.is_anonymous() && !symbols.contains(&symbol) {
            symbols.push(symbol);
        }
        None
    });
    let end = (graph.inputs.len(), 0);
    symbols.into_iter().fold(error, |error, symbol| {
        let axis = axis_with(graph, end, &|dim| *dim == Dim::from(symbol))
            .or_else(|| rows_with(graph, end, &Dim::from(symbol)))
            .or_else(|| axis_with(graph, end, &|dim| has_symbol(dim, symbol)));
        let dim = Dim::from(symbol);
        let Some(value) = bindings.try_eval(&dim) else { return error };
        match (axis, maker_of_element(graph, &dim)) {
            (Some(axis), _) => error.note(format!("{dim} is {value}{axis}"), None),
            (None, Some(maker)) => {
                let text = format!("{dim} is {value}, from {}", graph.node_label(maker));
                error.note(text, Some(graph.nodes[maker.index()].location))
            }
            (None, None) => error,
        }
    })
}

/// Returns the node of the first value that has `dim` as an element.
fn maker_of_element(graph: &GraphData, dim: &Dim) -> Option<NodeIx> {
    let dim = graph.table.resolve(dim);
    let has_it = |info: &&ValueInfo| {
        let mut elements = info.elements.iter().flat_map(|elements| elements.elements());
        elements.any(|element| graph.table.resolve(element) == dim)
    };
    graph.values.iter().find(has_it).map(|info| info.node)
}

/// Returns the error about an equality of several symbols that does not hold.
fn broken_equality(
    graph: &GraphData,
    bindings: &Bindings<'_>,
    mismatch: &DimMismatch,
    misfit: &MakeError<'_>,
) -> Error {
    match input_axes(graph).find(|(_, _, dim)| graph.table.resolve(dim) == mismatch.dim) {
        Some((port, axis, _)) => {
            let requirement = mismatch.requirement(&reason(graph, (port, axis), &mismatch.dim, bindings));
            misfit(Misfit { port, axis: Some(axis), requirement: &requirement })
        }
        None => {
            let message = format!("a dimension {}", mismatch.requirement(""));
            Error::new(ErrorKind::Feed, Phase::Run, message)
        }
    }
}

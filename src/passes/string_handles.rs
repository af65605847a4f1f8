//! [`StringMoves`]: nodes that only move strings run on handles, which are integers, in kernels.
//!
//! A handle says where its string is: in which tensor, and at which position there. 0 is the empty string. An op that
//! moves the elements of any dtype alike moves handles instead, so chains of such ops fuse. The strings are copied
//! once, for the first node that reads bytes.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType};
use smallvec::SmallVec;

use super::rebuilder::Rebuilder;
use super::resolve::lacking;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::eval::only_moves_strings;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::op::{Body, HostCx, OpDef, Operand};
use crate::shape_fns;
use crate::tensor::{Strings, StringsBuilder};

/// The number of bits of a handle that are a position in a tensor. The bits above are the number of the tensor.
const POSITION_BITS: u32 = 40;

/// The maximum number of tensors that handles of a graph lead to.
const MAX_SOURCES: usize = 1 << 22;

/// Returns the handles of a tensor of strings: `string[..] -> i64[..]`. The attribute `source` is the number of the
/// tensor.
static HANDLES: OpDef = OpDef::compute("string_handles", lower_handles)
    .attrs(&[Attribute::int("source")])
    .operands(&[Operand::Data("strings")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(handle_dtype);

/// Returns the strings that handles lead to: `i64[..], string[..].. -> string[..]`. The attribute `sources` holds the
/// numbers of the tensors.
static STRINGS: OpDef = OpDef::host("strings_of_handles", run_strings)
    .attrs(&[Attribute::ints("sources")])
    .operands(&[Operand::Data("handles"), Operand::Variadic("strings..")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(string_dtype);

fn handle_dtype(_: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    Ok(vec![DType::I64])
}

fn string_dtype(_: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    Ok(vec![DType::String])
}

fn lower_handles(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let source = match cx.attrs().get("source") {
        Some(Attr::Int(source)) => *source,
        other => unreachable!("the pass gives every node its source, got {other:?}"),
    };
    let sizes = cx.dims(0);
    let position = index
        .iter()
        .zip(sizes)
        .fold(Index::from(0), |position, (index, size)| position * size + index.clone());
    Expr::constant(source << POSITION_BITS) + Expr::iota(position)
}

fn run_strings(cx: &mut HostCx<'_>) -> Result<()> {
    let Some(Attr::Ints(numbers)) = cx.attrs().get("sources") else {
        unreachable!("the pass gives every node its sources")
    };
    let views = (1..cx.inputs()).map(|number| cx.input(number)).collect::<Result<Vec<_>>>()?;
    let mut sources: FxHashMap<i64, Strings<'_>> = FxHashMap::default();
    for (number, view) in numbers.iter().zip(&views) {
        sources.insert(*number, view.as_strings()?);
    }
    let handles = cx.input(0)?;
    let sizes = handles.sizes();
    let handles = handles.as_slice::<i64>()?;
    let mut runs = Vec::new();
    let mut rest = handles;
    while let Some(&first) = rest.first() {
        let count = if first == 0 { 1 } else { ascending_run(rest) };
        let strings = match first {
            0 => None,
            _ => Some(run_of(&sources, first, count).ok_or_else(|| lost(first))?),
        };
        runs.push(strings);
        rest = &rest[count..];
    }
    let bytes = runs.iter().flatten().map(Strings::byte_len).sum();
    let mut made = StringsBuilder::with_capacity(handles.len(), bytes)?;
    for run in runs {
        match run {
            Some(strings) => made.push_all(strings)?,
            None => made.end()?,
        }
    }
    cx.set_output(0, made.finish(sizes)?)
}

/// Returns the number of leading handles that ascend by 1. There is at least one handle.
fn ascending_run(handles: &[i64]) -> usize {
    const BLOCK: usize = 16;
    let first = handles[0];
    let ascends = |(position, block): (usize, &[i64])| {
        let start = first.wrapping_add((position * BLOCK) as i64);
        block
            .iter()
            .enumerate()
            .fold(true, |all, (offset, handle)| all & (*handle == start.wrapping_add(offset as i64)))
    };
    // Whole blocks are compared at once.
    let blocks = handles.chunks_exact(BLOCK).enumerate().take_while(|block| ascends(*block)).count();
    let rest = handles[blocks * BLOCK..].iter().zip((blocks * BLOCK) as i64..);
    blocks * BLOCK + rest.take_while(|(handle, offset)| **handle == first.wrapping_add(*offset)).count()
}

/// Returns the `count` strings from a handle on; none if there are fewer.
fn run_of<'a>(sources: &FxHashMap<i64, Strings<'a>>, first: i64, count: usize) -> Option<Strings<'a>> {
    let strings = sources.get(&(first >> POSITION_BITS))?;
    let start = usize::try_from(first & ((1 << POSITION_BITS) - 1)).ok()?;
    let end = start.checked_add(count)?;
    (end <= strings.len()).then(|| strings.slice(start..end))
}

#[cold]
fn lost(handle: i64) -> Error {
    let message = format!("internal error: the handle {handle:#x} leads to no string");
    Error::new(ErrorKind::Internal, Phase::Run, message)
}

/// The strings that move as handles.
#[derive(Default)]
pub(super) struct StringMoves {
    /// For each value of the old graph: the handles of its strings.
    handles: FxHashMap<ValueIx, Handles>,
    /// The tensors that handles lead to, values of the new graph. The first has number 1.
    sources: Vec<ValueIx>,
    /// The number of each tensor in `sources`.
    number_of: FxHashMap<ValueIx, i64>,
}

/// Handles, and the tensors that they lead to.
#[derive(Clone)]
struct Handles {
    /// The handles, a value of the new graph.
    value: ValueIx,
    /// The numbers of the tensors, in ascending order.
    sources: SmallVec<[i64; 2]>,
}

impl StringMoves {
    /// Copies a node to the new graph. A node that only moves strings moves handles there.
    ///
    /// # Errors
    /// Inference refuses the node.
    pub(super) fn copy(&mut self, graph: &mut Rebuilder<'_>, index: NodeIx) -> Result<()> {
        let node = &graph.old.nodes[index.index()];
        if self.only_moves_strings(graph.old, index) && self.copy_on_handles(graph, index)? {
            return Ok(());
        }
        node.operands.iter().try_for_each(|operand| self.materialize(graph, *operand))?;
        graph.copy(index)
    }

    /// Returns the values of the old graph that move as handles, each with its handles.
    pub(super) fn moved(&self) -> impl Iterator<Item = (ValueIx, ValueIx)> {
        self.handles.iter().map(|(old, handles)| (*old, handles.value))
    }

    /// Returns whether every result of a node is strings of its operands.
    fn only_moves_strings(&self, graph: &GraphData, index: NodeIx) -> bool {
        let node = &graph.nodes[index.index()];
        let is_string = |value: ValueIx| graph.values[value.index()].dtype == DType::String;
        let is_moved = |value: &ValueIx| self.handles.contains_key(value);
        matches!(node.op.body, Body::Compute(_))
            && node.values().all(is_string)
            && node.operands.iter().any(|operand| is_string(*operand))
            && self.sources.len() + node.operands.len() < MAX_SOURCES
            // The strings of a stored tensor need no copy to have another shape.
            && (!node.op.is_reinterpretation() || node.operands.iter().any(is_moved))
            && !node.attrs().iter().any(|(_, attr)| matches!(attr, Attr::DType(DType::String)))
            && lacking(graph, node) == (0, 0)
            && node.values().enumerate().all(|(output, _)| {
                graph.template(index, output).is_ok_and(|template| only_moves_strings(&template))
            })
    }

    /// Copies a node that only moves strings, so that it moves handles. Returns false if its op takes no integers.
    ///
    /// # Errors
    /// Inference refuses the handles of an operand.
    fn copy_on_handles(&mut self, graph: &mut Rebuilder<'_>, index: NodeIx) -> Result<bool> {
        let (old, node) = (graph.old, &graph.old.nodes[index.index()]);
        let mut sources: SmallVec<[i64; 2]> = SmallVec::new();
        let mut operands = SmallVec::new();
        for &operand in &node.operands {
            if old.values[operand.index()].dtype == DType::String {
                let handles = self.handles_of(graph, operand)?;
                operands.push(handles.value);
                sources.extend(handles.sources);
            } else {
                operands.push(graph.values[&operand]);
            }
        }
        sources.sort_unstable();
        sources.dedup();
        let Ok(first) = graph.find_or_add(index, operands) else { return Ok(false) };
        for (position, value) in node.values().enumerate() {
            let handles = Handles { value: ValueIx(first.0 + position as u32), sources: sources.clone() };
            graph.recall(value, handles.value)?;
            self.handles.insert(value, handles);
        }
        Ok(true)
    }

    /// Returns the handles of a value of the old graph.
    ///
    /// # Errors
    /// Inference refuses the node that makes handles.
    fn handles_of(&mut self, graph: &mut Rebuilder<'_>, old: ValueIx) -> Result<Handles> {
        if let Some(handles) = self.handles.get(&old) {
            return Ok(handles.clone());
        }
        let strings = graph.values[&old];
        let number = *self.number_of.entry(strings).or_insert_with(|| {
            self.sources.push(strings);
            self.sources.len() as i64
        });
        let attrs = Attrs::new().with("source", number);
        let value = graph.find_or_add_call(old, &HANDLES, [strings].into_iter().collect(), attrs)?;
        let handles = Handles { value, sources: [number].into_iter().collect() };
        self.handles.insert(old, handles.clone());
        Ok(handles)
    }

    /// Gives a value of the old graph a value in the new graph: strings that moved as handles are copied now.
    ///
    /// # Errors
    /// Inference refuses the node that copies strings.
    pub(super) fn materialize(&mut self, graph: &mut Rebuilder<'_>, mut old: ValueIx) -> Result<()> {
        // A reshape of strings in memory copies no strings. So the operand is copied, and the reshapes follow.
        let mut shapes = Vec::new();
        while !graph.values.contains_key(&old) && graph.old.node_of(old).op.is_reinterpretation() {
            let node = graph.old.node_of(old);
            shapes.push(graph.old.values[old.index()].node);
            old = node.operands[0];
        }
        if !graph.values.contains_key(&old) {
            let Handles { value, sources } = &self.handles[&old];
            let strings = sources.iter().map(|number| self.sources[*number as usize - 1]);
            let operands = std::iter::once(*value).chain(strings).collect();
            let attrs = Attrs::new().with("sources", Attr::Ints(sources.as_slice().into()));
            let value = graph.find_or_add_call(old, &STRINGS, operands, attrs)?;
            graph.values.insert(old, value);
        }
        shapes.into_iter().rev().try_for_each(|index| graph.copy(index))
    }
}

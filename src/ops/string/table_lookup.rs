//! `table_lookup`: the values that a table has for keys.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Attrs, DType, InferenceContext};

use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand};
use crate::ops::row_major::RowMajor;
use crate::tensor::{StringsBuilder, TensorView, size_of_element};

impl<'g> Value<'g> {
    /// Looks every element up in a table: `values[i]` where the element equals `keys[i]`, else `default`.
    ///
    /// `[..], keys [n], values [n], default [] -> [..]`. Keys are strings, integers or bools and differ from each other;
    /// values have any dtype, and the result has it. The table is built once if `keys` is a constant. As TensorFlow's
    /// `LookupTableFindV2` on a `HashTableV2`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let words = g.constant(["cat", "emu", "dog"])?;
    /// let (keys, ids) = (g.constant(["dog", "cat"])?, g.constant([7, 8])?);
    /// let [y] = g.compile(words.table_lookup(keys, ids, g.constant(-1)?)?)?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [8, -1, 7]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype is not supported, `keys` and `values` are not vectors of one length, or `default` is not a scalar. A key
    /// that occurs twice with different values fails the run.
    #[doc(alias = "StaticHashTable")]
    #[track_caller]
    pub fn table_lookup(self, keys: Value<'g>, values: Value<'g>, default: Value<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).data(keys).data(values).data(default).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("table_lookup", run)
    .operands(&[Operand::Data("x"), Operand::Data("keys"), Operand::Data("values"), Operand::Data("default")])
    .shape_fn(shape)
    .dtype_rule(dtypes);

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let [keys] = cx.axes::<1>(1)?;
    let [values] = cx.axes::<1>(2)?;
    cx.merge(&keys, &values).map_err(|error| error.operand(2))?;
    cx.scalar(3)?;
    cx.set_output(0, cx.input(0).clone());
    Ok(())
}

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let key = dtype::common(operands, 0, 2, Class::Any)?;
    if key != DType::String && !Class::Bits.contains(key) {
        return dtype::refuse(format!("keys must be strings, integers or bools, got {key}"));
    }
    Ok(vec![dtype::common(operands, 2, 4, Class::Any)?])
}

/// The position of each key.
enum Table {
    Strings(FxHashMap<Box<[u8]>, u32>),
    Bits(FxHashMap<u64, u32>),
}

impl Table {
    /// Numbers the keys. Of equal keys, the first counts.
    fn new(keys: TensorView<'_>) -> Result<Table> {
        if keys.dtype() == DType::String {
            let mut table = FxHashMap::default();
            for (number, key) in (0..).zip(keys.as_strings()?.iter()) {
                table.entry(key.into()).or_insert(number);
            }
            return Ok(Table::Strings(table));
        }
        let keys = RowMajor::new(keys)?;
        let mut table = FxHashMap::default();
        for (number, key) in (0..).zip(elements(keys.view())?) {
            table.entry(bits(key)).or_insert(number);
        }
        Ok(Table::Bits(table))
    }

    /// Returns the position of each element of `x` among the keys.
    fn positions(&self, x: TensorView<'_>) -> Result<Vec<Option<u32>>> {
        match self {
            Table::Strings(table) => Ok(x.as_strings()?.iter().map(|key| table.get(key).copied()).collect()),
            Table::Bits(table) => {
                let x = RowMajor::new(x)?;
                Ok(elements(x.view())?.map(|key| table.get(&bits(key)).copied()).collect())
            }
        }
    }
}

/// Returns the bytes of each element of a row-major tensor.
fn elements<'v>(view: TensorView<'v>) -> Result<impl Iterator<Item = &'v [u8]>> {
    Ok(view.bytes().chunks_exact(size_of_element(view.dtype())?))
}

/// Returns the bytes of an element, at most eight, as an integer.
fn bits(element: &[u8]) -> u64 {
    element.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (keys, values, default) = (cx.input(1)?, RowMajor::new(cx.input(2)?)?, cx.input(3)?);
    let values = values.view();
    if keys.len() != values.len() {
        let message =
            format!("a table must have as many values as keys, got {} and {}", values.len(), keys.len());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let table = cx.prepared(&[1, 2], |cx| {
        let table = Table::new(cx.input(1)?)?;
        check_repeated(&table, cx.input(1)?, values)?;
        Ok(table)
    })?;
    let x = cx.input(0)?;
    let positions = table.positions(x)?;
    if values.dtype() == DType::String {
        let (values, default) = (values.as_strings()?, default.as_strings()?.at(0));
        let mut made = StringsBuilder::with_capacity(positions.len(), 0)?;
        for position in positions {
            made.push(position.map_or(default, |position| values.at(position as usize)))?;
        }
        return cx.set_output(0, made.finish(x.sizes())?);
    }
    let size = size_of_element(values.dtype())?;
    let (values, default) = (values.bytes(), default.element(0).unwrap_or_default());
    let mut found = cx.unfilled_output(0, x.sizes())?;
    for (slot, position) in found.bytes_mut().chunks_exact_mut(size).zip(positions) {
        let value = position.map(|position| &values[position as usize * size..][..size]);
        slot.copy_from_slice(value.unwrap_or(default));
    }
    Ok(())
}

/// Checks that equal keys have equal values.
///
/// # Errors
/// They have not.
fn check_repeated(table: &Table, keys: TensorView<'_>, values: TensorView<'_>) -> Result<()> {
    let value = |number: usize| values.element(number);
    for (number, first) in table.positions(keys)?.into_iter().enumerate() {
        let first = first.expect("every key is in its table") as usize;
        if value(first) != value(number) {
            let message =
                format!("a key must have one value, got two for the keys number {first} and {number}");
            return Err(Error::new(ErrorKind::Custom, Phase::Run, message));
        }
    }
    Ok(())
}

//! `table_lookup`: the values that a table has for keys.

use shapeflow_shape_fns::{Attrs, DType, InferenceContext, ShapeError, counted};

use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand};
use crate::ops::key_table::KeyTable;
use crate::ops::pick_rows::pick_rows;
use crate::ops::row_major::RowMajor;

impl<'g> Value<'g> {
    /// Looks every element up in a table: `values[i]` where the element equals `keys[i]`, else `default`.
    ///
    /// `[..], keys [n], values [n], default [] -> [..]`. Keys are strings, integers or bools and differ from each
    /// other. Values have any dtype, which is also the dtype of the result. The table is built once if `keys` is a
    /// constant. As TensorFlow's `LookupTableFindV2` on a `HashTableV2`. Runs on the host. [`Value::lookup`] takes a
    /// [`LookupTable`](crate::LookupTable), which several graphs may share and whose values may have several axes.
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
    .dtype_rule(dtypes)
    // Operand 1 has the keys, and operand 2 the values. The export writes them as a table of TensorFlow.
    .looks_up(1, 2);

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let [keys] = cx.axes::<1>(1)?;
    let [values] = cx.axes::<1>(2)?;
    cx.merge(&keys, &values).map_err(|_| {
        let (keys, values) = (counted(keys, "key"), counted(values, "value"));
        ShapeError::new(format_args!("a table must have one value for each key, got {keys} and {values}"))
    })?;
    cx.scalar(3)?;
    cx.set_output(0, cx.input(0).clone());
    Ok(())
}

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let key = dtype::common(operands, 0, 2, Class::Any)?;
    if key != DType::String && !Class::Bits.contains(key) {
        return dtype::refuse(format!("keys must be strings, integers or bools, got {key}"));
    }
    Ok(vec![dtype::common(operands, 2, 4, Class::Stored)?])
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
        let keys = cx.input(1)?;
        let table = KeyTable::new(keys.clone())?;
        table.check_repeated(keys, &values)?;
        Ok(table)
    })?;
    let x = cx.input(0)?;
    let rows = table.find(x.clone())?;
    pick_rows(cx, 0, values, default, &rows, x.sizes())
}

//! `LookupTable` and `lookup`: values by key.

use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, InferenceContext, counted};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, HostKernel, OpDef, OpRef, Operand};
use crate::ops::key_table::KeyTable;
use crate::ops::pick_rows::pick_rows;
use crate::ops::row_major::RowMajor;
use crate::ragged::take_rows;
use crate::tensor::Tensor;

/// A table of values by key, for [`Value::lookup`]. The hash map of the table is built once; a clone shares
/// it.
///
/// ```
/// use shapeflow::{DType, Graph, LookupTable, Tensor, TensorView};
///
/// let table = LookupTable::new(&Tensor::from_strings(&[2], &["low", "high"])?, &Tensor::from([1.5f32, 9.0]))?;
/// let g = Graph::new();
/// let levels = g.constant(Tensor::from_strings(&[3], &["high", "none", "low"])?)?;
/// let exe = g.compile(levels.lookup(&table, 0.0)?)?;
/// let [y] = exe.run(&[])?;
/// assert_eq!(y.to_vec::<f32>()?, [9.0, 0.0, 1.5]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "HashTable")]
#[doc(alias = "StaticHashTable")]
pub struct LookupTable {
    rows: Arc<TableRows>,
    def: OpRef,
}

/// The content of a table: row `i` of `values` belongs to key number `i`.
struct TableRows {
    keys: KeyTable,
    values: Tensor,
    key_dtype: DType,
    /// The distinct keys and their values.
    distinct: [Tensor; 2],
    /// The keys that fail a run which looks them up.
    refused_keys: Vec<KeyTable>,
}

impl LookupTable {
    /// Makes a table in which `keys[i]` has the value `values[i]`. A key that occurs several times keeps its last
    /// value.
    ///
    /// `keys [n]`, integers or strings; `values [n, ..]`, any dtype.
    ///
    /// # Errors
    /// `DType`: the keys are neither integers nor strings. `Shape`: the keys are not a vector, or the number of values
    /// differs from the number of keys.
    #[track_caller]
    pub fn new(keys: &Tensor, values: &Tensor) -> Result<LookupTable> {
        let location = Location::caller();
        LookupTable::with_refused_keys(keys, values, &[]).map_err(|error| error.or_at(location))
    }

    /// Makes a table as [`LookupTable::new`] does. A lookup of a key in `refused` fails the run.
    ///
    /// # Errors
    /// As [`LookupTable::new`].
    pub(crate) fn with_refused_keys(
        keys: &Tensor,
        values: &Tensor,
        refused: &[Tensor],
    ) -> Result<LookupTable> {
        if keys.sizes().len() != 1 || values.sizes().first() != keys.sizes().first() {
            let message = format!(
                "a table must have one value for each key of a vector, got keys {:?} and values {:?}",
                keys.sizes(),
                values.sizes()
            );
            return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
        }
        let key_dtype = keys.dtype();
        if key_dtype != DType::String && !key_dtype.is_integer() {
            return dtype::refuse(format!("keys must be integers or strings, got {key_dtype}"));
        }
        let numbers = KeyTable::new(keys.view())?;
        // Only an export reads the distinct keys, and it refuses tensor lists.
        let distinct = match numbers.len() == keys.len() || values.dtype() == DType::Variant {
            true => [keys.clone(), values.clone()],
            false => {
                // A key finds the last of its rows.
                let found = numbers.find(keys.view())?;
                let is_last = |row: &usize| found[*row] == Some(*row);
                let rows: Vec<_> = (0..keys.len()).filter(is_last).map(|row| row..row + 1).collect();
                [take_rows(keys.view(), &rows)?, take_rows(values.view(), &rows)?]
            }
        };
        let refused_keys = refused.iter().map(|key| KeyTable::new(key.view())).collect::<Result<_>>()?;
        let values = values.clone();
        let rows = Arc::new(TableRows { keys: numbers, values, key_dtype, distinct, refused_keys });
        let def = OpDef::host_with("lookup", Lookup(rows.clone()))
            .operands(&[Operand::Data("keys"), Operand::Data("default")])
            .shape_fn(shape)
            .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 1, 2, dtype::Class::Any)?]));
        Ok(LookupTable { rows, def: OpRef::from(Arc::new(def)) })
    }

    /// Returns the number of different keys.
    pub fn len(&self) -> usize {
        self.rows.keys.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a lookup of some key fails the run.
    #[cfg(feature = "graphdef")]
    pub(crate) fn refuses_keys(&self) -> bool {
        !self.rows.refused_keys.is_empty()
    }

    /// Checks that equal keys have equal values. `keys` and `values` are the content of the table, and each value has
    /// one element.
    ///
    /// # Errors
    /// Two equal keys have different values.
    #[cfg(feature = "graphdef")]
    pub(crate) fn check_repeated(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        self.rows.keys.check_repeated(keys.view(), &values.view())
    }

    /// Returns the dtype of the keys.
    pub fn key_dtype(&self) -> DType {
        self.rows.key_dtype
    }

    /// Returns the dtype of the values.
    pub fn value_dtype(&self) -> DType {
        self.rows.values.dtype()
    }
}

impl std::fmt::Debug for LookupTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LookupTable({})", counted(self.len(), &format!("{} key", self.key_dtype())))
    }
}

impl<'g> Value<'g> {
    /// Returns the value that `table` has for each element, or `default` for an element that is not a key.
    ///
    /// `[..], default [v, ..] -> [.., v, ..]`, where `[n, v, ..]` is the shape of the table's values. The elements have
    /// the dtype of the keys, and the result has the dtype of the values. A Rust scalar as `default` takes the dtype of
    /// the values. As TensorFlow's `LookupTableFindV2`. Runs on the host. [`Value::table_lookup`] takes keys and values
    /// of the graph instead of a table.
    ///
    /// ```
    /// use shapeflow::{Graph, LookupTable, Tensor};
    ///
    /// let g = Graph::new();
    /// let table = LookupTable::new(&Tensor::from([10, 20]), &Tensor::from(["ten", "twenty"]))?;
    /// let words = g.constant([20, 5])?.lookup(&table, g.constant("none")?)?;
    /// let [words] = g.compile(words)?.run(&[])?;
    /// assert_eq!(words, Tensor::from(["twenty", "none"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements have another dtype than the keys, or `default` has another dtype or shape than a value.
    #[track_caller]
    pub fn lookup(self, table: &LookupTable, default: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let default = default.into_operand_of(self.graph(), table.value_dtype(), location).ok();
        let default = default.map_err(|error| match error.op() {
            // The scalar of this call does not fit.
            None if error.recorded_location() == Some(location) => {
                let keys = dtype::type_text(self.dtype(), &self.shape());
                error.with_op("lookup", format!("lookup({keys}, scalar)"))
            }
            _ => error,
        })?;
        let refuse = |kind, message: String| {
            let [keys, value] = [self, default].map(|x| dtype::type_text(x.dtype(), &x.shape()));
            let error = Error::new(kind, Phase::Build, message);
            error.with_op("lookup", format!("lookup({keys}, {value})")).at(location)
        };
        let cast_to = |wanted| match wanted {
            DType::String => "write it as text with .as_string()".to_string(),
            _ => format!("cast it with .cast({})", dtype::spelled(wanted)),
        };
        if self.dtype() != table.key_dtype() {
            let message = format!(
                "elements must be {}, the dtype of the keys, got {}",
                table.key_dtype(),
                self.dtype()
            );
            return Err(refuse(ErrorKind::DType, message).with_help(cast_to(table.key_dtype())));
        }
        if default.dtype() != table.value_dtype() {
            let message = format!(
                "the default must be {}, the dtype of the values, got {}",
                table.value_dtype(),
                default.dtype()
            );
            return Err(refuse(ErrorKind::DType, message).with_help(cast_to(table.value_dtype())));
        }
        let value = crate::eval::shape_of(table.rows.value_sizes());
        if !default.shape().is_compatible_with(&value) {
            let message =
                format!("the default must have shape {value}, the shape of a value, got {}", default.shape());
            return Err(refuse(ErrorKind::Shape, message));
        }
        self.graph().op(table.def.clone()).data(self).data(default).finish_at(location)
    }
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let shape = cx.input(0).concatenate(cx.input(1));
    cx.set_output(0, shape);
    Ok(())
}

impl TableRows {
    /// Returns the sizes of one value.
    fn value_sizes(&self) -> &[usize] {
        &self.values.sizes()[1..]
    }
}

/// The kernel of a lookup in one table.
struct Lookup(Arc<TableRows>);

impl HostKernel for Lookup {
    fn is_pure(&self) -> bool {
        true
    }

    fn table(&self) -> Option<[&Tensor; 2]> {
        self.0.refused_keys.is_empty().then(|| self.0.distinct.each_ref())
    }

    fn unwritable(&self) -> Option<&'static str> {
        let reason = "a lookup in a table with an empty key or a deleted key";
        (!self.0.refused_keys.is_empty()).then_some(reason)
    }

    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        let (keys, default) = (cx.input(0)?, RowMajor::new(cx.input(1)?)?);
        let default = default.view();
        if keys.dtype() != self.0.key_dtype {
            return Err(Error::msg("elements must have the dtype of the keys"));
        }
        for refused in &self.0.refused_keys {
            if let Some(number) = refused.find(keys.clone())?.iter().position(Option::is_some) {
                let message = format!(
                    "a lookup must not ask for the empty key or the deleted key of its table, got one in element {number}"
                );
                return Err(Error::new(ErrorKind::Data, Phase::Run, message));
            }
        }
        let rows = self.0.keys.find(keys.clone())?;
        if default.sizes() != self.0.value_sizes() {
            let message = format!(
                "the default must have the sizes {:?} of a value, got {:?}",
                self.0.value_sizes(),
                default.sizes()
            );
            return Err(Error::msg(message));
        }
        let sizes = [keys.sizes(), default.sizes()].concat();
        pick_rows(cx, 0, self.0.values.view(), default, &rows, &sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::tensor;
    use crate::{Graph, shape};

    fn run(table: &LookupTable, keys: &Tensor, default: &Tensor) -> Result<Tensor> {
        let g = Graph::new();
        let x = g.input("x", keys.dtype(), shape!["n", "m"])?;
        let y = x.lookup(table, g.constant(default)?)?;
        let exe = g.compile(y)?;
        let [y] = exe.run(&[keys.view()])?;
        Ok(y)
    }

    #[test]
    fn keys_of_every_dtype_find_their_values() {
        let values = tensor(&[3, 2], &[1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let default = tensor(&[2], &[-1.0f64, -2.0]);
        let expected = tensor(&[1, 3, 2], &[5.0, 6.0, -1.0, -2.0, 1.0, 2.0]);
        let check = |keys: Tensor, looked_up: Tensor| {
            let table = LookupTable::new(&keys, &values).unwrap();
            assert_eq!((table.len(), run(&table, &looked_up, &default).unwrap()), (3, expected.clone()));
            let empty = Tensor::zeros(keys.dtype(), &[0, 4]).unwrap();
            assert_eq!(run(&table, &empty, &default).unwrap().sizes(), [0, 4, 2]);
        };
        macro_rules! integers {
            ($($T:ty),*) => {
                $(check(tensor(&[3], &[7 as $T, 0, <$T>::MIN + 1]), tensor(&[1, 3], &[<$T>::MIN + 1, 5, 7]));)*
            };
        }
        integers!(i8, i16, i32, i64);
        check(tensor(&[3], &[7u64, 0, u64::MAX]), tensor(&[1, 3], &[u64::MAX, 5, 7]));
        check(tensor(&[3], &[7u8, 0, 255]), tensor(&[1, 3], &[255u8, 5, 7]));
        let words = |sizes: &[usize], words: &[&str]| Tensor::from_strings(sizes, words).unwrap();
        check(words(&[3], &["a", "", "\0b"]), words(&[1, 3], &["\0b", "b", "a"]));
    }

    #[test]
    fn the_last_value_of_a_key_stays() {
        let table = LookupTable::new(
            &tensor(&[3], &[4, 5, 4]),
            &Tensor::from_strings(&[3], &["a", "b", "c"]).unwrap(),
        );
        let table = table.unwrap();
        let found =
            run(&table, &tensor(&[2, 1], &[4, 6]), &Tensor::from_strings(&[], &["?"]).unwrap()).unwrap();
        assert_eq!((table.len(), found), (2, Tensor::from_strings(&[2, 1], &["c", "?"]).unwrap()));
    }

    #[test]
    fn a_lookup_of_a_refused_key_fails_the_run() {
        let (keys, values) = (tensor(&[2], &[4, 5i64]), tensor(&[2], &[1.0f32, 2.0]));
        let refused = [tensor(&[1], &[0i64]), tensor(&[], &[-1i64])];
        let table = LookupTable::with_refused_keys(&keys, &values, &refused).unwrap();
        let default = tensor(&[], &[9.0f32]);
        assert_eq!(
            run(&table, &tensor(&[1, 2], &[5i64, 6]), &default).unwrap(),
            tensor(&[1, 2], &[2.0f32, 9.0])
        );
        for key in [0i64, -1] {
            let error = run(&table, &tensor(&[1, 2], &[5i64, key]), &default).unwrap_err();
            assert!(error.message().contains("got one in element 1"), "{error}");
        }
    }

    #[test]
    fn a_rust_scalar_takes_the_dtype_of_the_values() -> Result<()> {
        let g = Graph::new();
        let words = g.constant(["a", "?"])?;
        let keys = Tensor::from_strings(&[1], &["a"])?;
        for values in [Tensor::from([5.0f64]), Tensor::from([5i64]), Tensor::from([5u8])] {
            let table = LookupTable::new(&keys, &values)?;
            for found in [words.lookup(&table, 3)?, words.lookup(&table, 3.0)?] {
                let [found] = g.compile(found.cast(DType::F64)?)?.run(&[])?;
                assert_eq!((found, table.value_dtype()), (Tensor::from([5.0f64, 3.0]), values.dtype()));
            }
        }
        Ok(())
    }

    #[test]
    fn unsuitable_tables_and_elements_are_refused() {
        let error = LookupTable::new(&tensor(&[1], &[0.5f32]), &tensor(&[1], &[1])).unwrap_err();
        assert_eq!(error.message(), "keys must be integers or strings, got f32");
        let error = LookupTable::new(&tensor(&[2], &[1, 2]), &tensor(&[1], &[1])).unwrap_err();
        assert!(error.message().contains("got keys [2] and values [1]"));
        let table = LookupTable::new(&tensor(&[1], &[1]), &tensor(&[1], &[1.0f32])).unwrap();
        let error = run(&table, &tensor(&[1, 1], &[1i64]), &tensor(&[], &[1.0f32])).unwrap_err();
        let expected = "lookup(i64[n, m], f32[]): elements must be i32, the dtype of the keys, got i64";
        assert_eq!(error.message(), expected);
        assert_eq!((error.op(), error.help()), (Some("lookup"), Some("cast it with .cast(DType::I32)")));
        let error = run(&table, &tensor(&[1, 1], &[1]), &tensor(&[], &[1.0f64])).unwrap_err();
        assert!(
            error.message().ends_with("the default must be f32, the dtype of the values, got f64"),
            "{error}"
        );
        let g = Graph::new();
        let x = g.input("x", DType::I32, shape!["n"]).unwrap();
        let error = LookupTable::new(&tensor(&[1], &[1]), &tensor(&[1], &[7i64]))
            .and_then(|table| x.lookup(&table, 0.5))
            .unwrap_err();
        assert_eq!(error.message(), "lookup(i32[n], scalar): the scalar must fit i64, got 0.5");
        assert_eq!(error.op(), Some("lookup"));
        let error = run(&table, &tensor(&[1, 1], &[1]), &tensor(&[2], &[1.0f32; 2])).unwrap_err();
        let expected = "the default must have shape [], the shape of a value, got [2]";
        assert!(error.message().ends_with(expected), "{error}");
    }
}

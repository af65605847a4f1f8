//! `serialize_sparse`, `serialize_many_sparse` and `deserialize_sparse`: a sparse tensor as three strings, the messages
//! `TensorProto` of its indices, values and shape.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use super::params::{attribute_error, check_strings, value_error};
use super::tensor_message::{StringForm, TensorMessage, message_of};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::ops::sparse::reshape::move_indices;
use crate::shape_fns;
use crate::tensor::{Strings, StringsBuilder, Tensor, TensorView, reserved_vec};

impl<'g> Value<'g> {
    /// Writes a sparse tensor to three strings: TensorFlow's messages `TensorProto` of the indices, the values and the
    /// shape. `self` has the indices.
    ///
    /// `[count, r], values [count], shape [r] -> string[3]`. The values have any dtype; the indices and the shape are
    /// i64. As TensorFlow's `SerializeSparse` (`tf.io.serialize_sparse`). Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let (indices, shape) = (g.constant([[0i64, 1], [2, 0]])?, g.constant([3i64, 2])?);
    /// let strings = indices.serialize_sparse(g.constant([10.0f32, 20.0])?, shape)?;
    /// let again = strings.deserialize_sparse(DType::F32)?;
    /// let [indices, values, shape] = g.compile(&again[..])?.run(&[])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 2, 0]);
    /// assert_eq!(values.to_vec::<f32>()?, [10.0, 20.0]);
    /// assert_eq!(shape.to_vec::<i64>()?, [3, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank.
    #[track_caller]
    pub fn serialize_sparse(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        self.serialized(&SERIALIZE, values, shape, Location::caller())
    }

    /// Writes each row of a sparse tensor to three strings, as [`Value::serialize_sparse`] writes a sparse tensor.
    /// `self` has the indices, which must be in ascending order.
    ///
    /// `[count, r], values [count], shape [r] -> string[shape[0], 3]`, where `r` is at least 2. The values have any
    /// dtype that is not quantized; the indices and the shape are i64. As TensorFlow's `SerializeManySparse`
    /// (`tf.io.serialize_many_sparse`). Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let (indices, shape) = (g.constant([[0i64, 1], [2, 0]])?, g.constant([3i64, 2])?);
    /// let rows = indices.serialize_many_sparse(g.constant([10.0f32, 20.0])?, shape)?;
    /// let last = rows.slice([2, 0], [1, 3])?.deserialize_sparse(DType::F32)?;
    /// let [indices, values, shape] = g.compile(&last[..])?.run(&[])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 0]);
    /// assert_eq!(values.to_vec::<f32>()?, [20.0]);
    /// assert_eq!(shape.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank. The run fails if an index is out of range, or indices are equal or not in
    /// ascending order.
    #[track_caller]
    pub fn serialize_many_sparse(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        self.serialized(&SERIALIZE_MANY, values, shape, Location::caller())
    }

    fn serialized(
        self,
        def: &'static OpDef,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
        location: &'static Location<'static>,
    ) -> Result<Value<'g>> {
        let (values, shape) =
            (values.into_own_operand(self.graph(), location), shape.into_operand(self, location));
        self.graph().op(def).data(self).data(values).data(shape).finish_at(location)
    }

    /// Reads sparse tensors from strings, such as [`Value::serialize_sparse`] and [`Value::serialize_many_sparse`]
    /// write, and stacks them: the axes of `self` before its last axis come first. Returns the indices, the values and
    /// the shape.
    ///
    /// `string [b.., 3] -> i64[count, r], dtype[count], i64[r]`, where `r` and `count` depend on the strings. A size of
    /// the result is the greatest size of the sparse tensors along the axis. As TensorFlow's `DeserializeSparse`
    /// (`tf.io.deserialize_many_sparse` for `[n, 3]`). Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, stack};
    ///
    /// let g = Graph::new();
    /// let sparse = |index: i64, size: i64| {
    ///     g.constant([[index]])?.serialize_sparse(g.constant([true])?, g.constant([size])?)
    /// };
    /// let both = stack(&[sparse(2, 3)?, sparse(4, 5)?], 0)?.deserialize_sparse(DType::Bool)?;
    /// let [indices, values, shape] = g.compile(&both[..])?.run(&[])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 2, 1, 4]);
    /// assert_eq!(values.to_vec::<bool>()?, [true, true]);
    /// assert_eq!(shape.to_vec::<i64>()?, [2, 5]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is a scalar or not of strings, the last axis does not have size 3, or `dtype` is variant. The run fails
    /// if a string is not the message of a part of a sparse tensor, the values have another dtype, the parts do not fit
    /// each other, the ranks of sparse tensors differ, or there is no sparse tensor.
    #[track_caller]
    pub fn deserialize_sparse(self, dtype: DType) -> Result<[Value<'g>; 3]> {
        let call = self.graph().op(&DESERIALIZE).data(self).attr("dtype", dtype);
        let outputs = call.finish_all_at(Location::caller())?;
        Ok([outputs[0], outputs[1], outputs[2]])
    }
}

const SPARSE: &[Operand] =
    &[Operand::Data("sparse_indices"), Operand::Data("sparse_values"), Operand::Data("sparse_shape")];

pub(crate) static SERIALIZE: OpDef = OpDef::host("serialize_sparse", serialize)
    .attrs(&[Attribute::dtype_or("out_type", DType::String)])
    .operands(SPARSE)
    .shape_fn(shape_fns::sparse::serialize)
    .dtype_rule(|dtypes, attrs| {
        dtype::common(dtypes, 1, 2, dtype::Class::Stored)?;
        serialized_dtype(dtypes, attrs)
    })
    .tensorflow(&[TfOp::new("SerializeSparse")]);

pub(crate) static SERIALIZE_MANY: OpDef = OpDef::host("serialize_many_sparse", serialize_many)
    .attrs(&[Attribute::dtype_or("out_type", DType::String)])
    .operands(SPARSE)
    .shape_fn(shape_fns::sparse::serialize_many)
    .dtype_rule(|dtypes, attrs| match dtypes.get(1) {
        Some(dtype) if !(matches!(dtype, DType::Bool | DType::String) || dtype.is_numeric()) => {
            let message = "values must be bool, an integer, a float, complex or string";
            dtype::refuse(format!("{message}, got {dtype}"))
        }
        _ => serialized_dtype(dtypes, attrs),
    })
    .tensorflow(&[TfOp::new("SerializeManySparse")]);

pub(crate) static DESERIALIZE: OpDef = OpDef::host("deserialize_sparse", deserialize)
    .attrs(&[Attribute::dtype("dtype")])
    .operands(&[Operand::Data("serialized_sparse")])
    .outputs(|_, _| 3)
    .shape_fn(shape_fns::sparse::deserialize)
    .dtype_rule(sparse_dtypes)
    .tensorflow(&[TfOp::new("DeserializeSparse")]);

/// An op for import only: does the same as [`DESERIALIZE`] for a matrix.
pub(crate) static DESERIALIZE_MANY: OpDef = OpDef::host("deserialize_many_sparse", deserialize)
    .attrs(&[Attribute::dtype("dtype")])
    .operands(&[Operand::Data("serialized_sparse")])
    .outputs(|_, _| 3)
    .shape_fn(shape_fns::sparse::deserialize_many)
    .dtype_rule(sparse_dtypes)
    .tensorflow(&[TfOp::new("DeserializeManySparse")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&DESERIALIZE, &DESERIALIZE_MANY, &SERIALIZE, &SERIALIZE_MANY];

fn serialized_dtype(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    for operand in [0, 2] {
        if let Some(other) = dtypes.get(operand).filter(|dtype| **dtype != DType::I64) {
            return dtype::refuse(format!(
                "indices and shapes must be i64, got {other} in operand {operand}"
            ));
        }
    }
    match attrs.dtype("out_type") {
        DType::String => Ok(vec![DType::String]),
        other => Err(attribute_error(format!("out_type must be string, got {other}"))),
    }
}

fn sparse_dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    check_strings(dtypes, 1)?;
    match attrs.dtype("dtype") {
        DType::Variant => dtype::refuse("dtype must not be variant".to_string()),
        dtype => Ok(vec![DType::I64, dtype, DType::I64]),
    }
}

fn shape_error<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Shape, Phase::Run, message))
}

/// Appends the message of a tensor of row-major elements.
fn push_message(strings: &mut StringsBuilder, x: &TensorView<'_>) -> Result<()> {
    strings.push(&message_of(x, StringForm::Content)?)
}

fn serialize(cx: &mut HostCx<'_>) -> Result<()> {
    let mut strings = StringsBuilder::new();
    for operand in 0..3 {
        push_message(&mut strings, &RowMajor::new(cx.input(operand)?)?.view())?;
    }
    cx.set_output(0, strings.finish(&[3])?)
}

fn serialize_many(cx: &mut HostCx<'_>) -> Result<()> {
    let [indices, values, shape] =
        [RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(2)?)?];
    let (indices, values) = (indices.view(), values.view());
    let shape = shape.view().as_slice::<i64>()?;
    let rank = shape.len();
    let elements = indices.as_slice::<i64>()?;
    let count = values.len();
    if indices.sizes() != [count, rank] {
        let message = "indices must have a row for each value and a column for each size";
        return shape_error(format!(
            "{message}, got sizes {:?} for {count} of {shape:?}",
            indices.sizes(),
            count = counted(count, "value")
        ));
    }
    let Some((rows, others)) = shape.split_first().filter(|_| rank > 1) else {
        return shape_error(format!("a sparse tensor must have at least 2 sizes, got {shape:?}"));
    };
    let Ok(rows) = usize::try_from(*rows) else {
        return shape_error(format!("a size must be at least 0, got {rows} in {shape:?}"));
    };
    let index = |row: usize| &elements[row * rank..(row + 1) * rank];
    for row in 0..count {
        if index(row).iter().zip(shape).any(|(index, size)| !(0..*size).contains(index)) {
            let message = format!("an index must be inside the sizes {shape:?}, got {:?}", index(row));
            let error = Error::new(ErrorKind::Index, Phase::Run, message);
            return Err(error.in_element(0, &format!(" in row {row}")));
        }
        if row > 0 && index(row - 1) >= index(row) {
            let message = format!(
                "indices must be in ascending order, got {:?} after {:?}",
                index(row),
                index(row - 1)
            );
            let error = Error::new(ErrorKind::Index, Phase::Run, message);
            return Err(error.in_element(0, &format!(" in row {row}")));
        }
    }
    let sizes = message_of(&TensorView::new(&[rank - 1], others)?, StringForm::Content)?;
    let mut strings =
        StringsBuilder::with_capacity(rows.saturating_mul(3), rows.saturating_mul(sizes.len()))?;
    let mut next = 0;
    for row in 0..rows {
        let first = next;
        while next < count && index(next)[0] == row as i64 {
            next += 1;
        }
        let columns: Vec<i64> = (first..next).flat_map(|row| &index(row)[1..]).copied().collect();
        push_message(&mut strings, &TensorView::new(&[next - first, rank - 1], &columns)?)?;
        push_message(&mut strings, &values.rows(first..next))?;
        strings.push(&sizes)?;
    }
    cx.set_output(0, strings.finish(&[rows, 3])?)
}

/// Reads sparse tensor number `number`: the indices, the values and the shape.
///
/// # Errors
/// A string is not the message of a part of a sparse tensor of `dtype`, or the parts do not fit each other.
fn read_sparse(strings: &Strings<'_>, number: usize, dtype: DType) -> Result<[Tensor; 3]> {
    let part = |part: usize, dtype: DType, rank: usize, what: &str| {
        let name = format!("{what} of sparse tensor {number}");
        let tensor = TensorMessage::read(strings.at(3 * number + part), dtype, &name)?.tensor()?;
        match tensor.sizes().len() {
            given if given == rank => Ok(tensor),
            _ => Err(value_error(format!("{name} must have rank {rank}, got sizes {:?}", tensor.sizes()))),
        }
    };
    let indices = part(0, DType::I64, 2, "the indices")?;
    let values = part(1, dtype, 1, "the values")?;
    let shape = part(2, DType::I64, 1, "the shape")?;
    if indices.sizes() != [values.len(), shape.len()] {
        let message = "must have a row for each value and a column for each size";
        return Err(value_error(format!(
            "the indices of sparse tensor {number} {message}, got sizes {:?} for {} and {}",
            indices.sizes(),
            counted(values.len(), "value"),
            counted(shape.len(), "size")
        )));
    }
    Ok([indices, values, shape])
}

/// Returns the greatest size of the sparse tensors along each axis.
///
/// # Errors
/// The ranks differ, or a size is negative.
fn greatest_sizes(tensors: &[[Tensor; 3]]) -> Result<Vec<i64>> {
    let mut greatest: Option<Vec<i64>> = None;
    for (number, [_, _, shape]) in tensors.iter().enumerate() {
        let sizes = shape.to_vec::<i64>()?;
        if let Some(size) = sizes.iter().find(|size| **size < 0) {
            return Err(value_error(format!(
                "a size must be at least 0, got {size} in the shape of sparse tensor {number}"
            )));
        }
        greatest = Some(match greatest {
            None => sizes,
            Some(greatest) if greatest.len() != sizes.len() => {
                return Err(value_error(format!(
                    "sparse tensors must have one rank, got {} of sparse tensor {number} after {}",
                    sizes.len(),
                    greatest.len()
                )));
            }
            Some(greatest) => greatest.into_iter().zip(sizes).map(|(a, b)| a.max(b)).collect(),
        });
    }
    Ok(greatest.unwrap_or_default())
}

fn deserialize(cx: &mut HostCx<'_>) -> Result<()> {
    let dtype = cx.attrs().dtype("dtype");
    let serialized = RowMajor::new(cx.input(0)?)?;
    let serialized = serialized.view();
    let strings = serialized.as_strings()?;
    let Some((_, batch)) = serialized.sizes().split_last().filter(|(parts, _)| **parts == 3) else {
        let message = "there must be 3 strings for each sparse tensor";
        return shape_error(format!("{message}, got sizes {:?}", serialized.sizes()));
    };
    let count = strings.len() / 3;
    if count == 0 {
        return shape_error(format!("there must be a sparse tensor, got sizes {:?}", serialized.sizes()));
    }
    let mut tensors: Vec<[Tensor; 3]> =
        (0..count).map(|number| read_sparse(&strings, number, dtype)).collect::<Result<_>>()?;
    if batch.is_empty()
        && let Some(parts) = tensors.pop()
    {
        return parts.into_iter().enumerate().try_for_each(|(output, part)| cx.set_output(output, part));
    }
    let sizes = greatest_sizes(&tensors)?;
    let rank = sizes.len();
    let stacked: Vec<i64> = [count as i64].into_iter().chain(sizes.iter().copied()).collect();
    let shape: Vec<i64> = batch.iter().map(|size| *size as i64).chain(sizes).collect();
    if stacked.iter().try_fold(1i64, |product, size| product.checked_mul(*size)).is_none() {
        return shape_error(format!("the product of the sizes must fit i64, got {shape:?}"));
    }
    let total: usize = tensors.iter().map(|[_, values, _]| values.len()).sum();
    let mut indices = reserved_vec::<i64>(total.saturating_mul(1 + rank))?;
    for (number, [columns, values, _]) in tensors.iter().enumerate() {
        let columns = columns.as_slice::<i64>()?;
        for row in 0..values.len() {
            indices.push(number as i64);
            indices.extend_from_slice(&columns[row * rank..(row + 1) * rank]);
        }
    }
    let mut output = cx.unfilled_output(0, &[total, shape.len()])?;
    move_indices(&indices, &stacked, &shape, output.as_mut_slice::<i64>()?)?;
    let values: Vec<TensorView<'_>> = tensors.iter().map(|[_, values, _]| values.view()).collect();
    cx.set_output(1, Tensor::joined(dtype, &[total], &values)?)?;
    cx.set_output(2, Tensor::from_vec(&[shape.len()], shape)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { SERIALIZE, {},
        "i64[n, r]; qi8[n]; i64[r]" => "string[3]",
        "i64[n, r]; variant[n]; i64[r]" => error "got variant",
        "i32[n, r]; f32[n]; i64[r]" => error "indices and shapes must be i64, got i32 in operand 0",
    }
    shape_table! { variants: SERIALIZE, {"out_type": DType::Variant},
        "i64[n, r]; f32[n]; i64[r]" => error "out_type must be string, got variant",
    }
    shape_table! { many: SERIALIZE_MANY, {},
        "i64[n, r]; string[n]; i64[r]" => "string[?, 3]",
        "i64[n, r]; qi8[n]; i64[r]" => error "values must be bool, an integer, a float, complex or string, got qi8",
    }
    shape_table! { deserialized: DESERIALIZE, {"dtype": DType::F32},
        "string[b, c, 3]" => "i64[?, ?]; f32[?]; i64[?]",
        "string[3, 2]" => error "must have size 3 at the last axis",
        "i32[3]" => error "string",
    }
    shape_table! { read_variants: DESERIALIZE, {"dtype": DType::Variant},
        "string[3]" => error "dtype must not be variant",
    }

    fn read(strings: &Tensor, dtype: DType) -> Result<Vec<Tensor>> {
        run(&DESERIALIZE, &Attrs::new().with("dtype", dtype), std::slice::from_ref(strings))
    }

    /// The sparse tensor with 1 + its position at every place that a number's bits choose.
    fn sparse(bits: u32, sizes: [i64; 2]) -> [Tensor; 3] {
        let places = (0..sizes[0] * sizes[1]).filter(|place| bits >> place & 1 == 1);
        let places: Vec<i64> = places.collect();
        let indices: Vec<i64> =
            places.iter().flat_map(|place| [place / sizes[1], place % sizes[1]]).collect();
        let values: Vec<i32> = places.iter().map(|place| *place as i32 + 1).collect();
        [tensor(&[places.len(), 2], &indices), tensor(&[places.len()], &values), tensor(&[2], &sizes)]
    }

    /// The elements of a sparse tensor of any rank: their indices and values.
    fn elements(parts: &[Tensor]) -> Vec<(Vec<i64>, i32)> {
        let rank = parts[2].len();
        let indices = parts[0].to_vec::<i64>().unwrap();
        let values = parts[1].to_vec::<i32>().unwrap();
        values
            .iter()
            .enumerate()
            .map(|(row, value)| (indices[row * rank..(row + 1) * rank].to_vec(), *value))
            .collect()
    }

    #[test]
    fn rows_of_sparse_tensors_read_back() {
        for seed in 1..40u32 {
            let x = sparse(seed.wrapping_mul(2_654_435_761) >> 9, [4, 5]);
            let whole = run_one(&SERIALIZE, &Attrs::new(), &x);
            assert_eq!(read(&whole, DType::I32).unwrap(), x);
            let rows = run_one(&SERIALIZE_MANY, &Attrs::new(), &x);
            assert_eq!(rows.sizes(), [4, 3]);
            assert_eq!(read(&rows, DType::I32).unwrap(), x);
            // Four rows in two batches of two.
            let batches = read(&rows.reshape(&[2, 2, 3]).unwrap(), DType::I32).unwrap();
            let expected: Vec<(Vec<i64>, i32)> = elements(&x)
                .into_iter()
                .map(|(index, value)| (vec![index[0] / 2, index[0] % 2, index[1]], value))
                .collect();
            assert_eq!(elements(&batches), expected);
            assert_eq!(batches[2].to_vec::<i64>().unwrap(), [2, 2, 5]);
        }
    }

    #[test]
    fn values_of_every_dtype_read_back() {
        let strings = Tensor::from_strings(&[2], &["", "bc"]).unwrap();
        let fixed = DType::all().filter(|dtype| dtype.size_bytes().is_some());
        let zeros = fixed.map(|dtype| Tensor::zeros(dtype, &[2]).unwrap());
        for values in zeros.chain([strings]) {
            let parts = [tensor(&[2, 1], &[3i64, 4]), values.clone(), tensor(&[1], &[9i64])];
            let message = run_one(&SERIALIZE, &Attrs::new(), &parts);
            assert_eq!(read(&message, values.dtype()).unwrap(), parts);
        }
    }

    #[test]
    fn wrong_sparse_tensors_are_refused() {
        let [indices, values, shape] =
            [tensor(&[2, 2], &[1i64, 0, 0, 1]), tensor(&[2], &[5, 7]), tensor(&[2], &[2i64, 2])];
        let many = |operands: &[Tensor]| run(&SERIALIZE_MANY, &Attrs::new(), operands).unwrap_err();
        let error = many(&[indices.clone(), values.clone(), shape.clone()]);
        assert!(
            error.message().contains("indices must be in ascending order, got [0, 1] after [1, 0]"),
            "{error}"
        );
        let outside = tensor(&[2, 2], &[0i64, 0, 0, 2]);
        let error = many(&[outside, values.clone(), shape.clone()]);
        assert!(error.message().contains("an index must be inside the sizes [2, 2], got [0, 2]"), "{error}");
        let vector = [tensor(&[1, 1], &[0i64]), tensor(&[1], &[5]), tensor(&[1], &[2i64])];
        assert!(many(&vector).message().contains("at least 2 sizes, got [2]"));

        let vector = run_one(&SERIALIZE, &Attrs::new(), &vector);
        let matrix = run_one(&SERIALIZE, &Attrs::new(), &[indices, values, shape]);
        let both = Tensor::joined(DType::String, &[2, 3], &[vector.view(), matrix.view()]).unwrap();
        let error = read(&both, DType::I32).unwrap_err();
        assert!(error.message().contains("one rank, got 2 of sparse tensor 1 after 1"), "{error}");
        let error = read(&matrix, DType::F32).unwrap_err();
        assert!(error.message().contains("the values of sparse tensor 0 must be a tensor of f32"), "{error}");
        let strings = matrix.as_strings().unwrap();
        for (parts, message) in [
            (
                [strings.at(1), strings.at(1), strings.at(2)],
                "the indices of sparse tensor 0 must be a tensor of i64",
            ),
            (
                [strings.at(2), strings.at(1), strings.at(2)],
                "the indices of sparse tensor 0 must have rank 2",
            ),
            ([strings.at(0), b"\x08", strings.at(2)], "the values of sparse tensor 0 must be the message"),
            ([strings.at(0), strings.at(1), vector.as_strings().unwrap().at(2)], "a column for each size"),
        ] {
            let error = read(&Tensor::from_strings(&[3], &parts).unwrap(), DType::I32).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
        let none = Tensor::from_strings::<&str>(&[0, 3], &[]).unwrap();
        assert!(read(&none, DType::I32).unwrap_err().message().contains("there must be a sparse tensor"));
    }
}

//! Arrow arrays as tensors, and tensors as Arrow arrays (feature `arrow`).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeListArray, LargeBinaryArray, PrimitiveArray,
};
use arrow_buffer::{Buffer as ArrowBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use shapeflow_shape_fns::{DType, counted};

use super::Tensor;
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};

/// Calls `$f::<P>($($arg),*)` with the primitive type of Arrow that has the elements of a dtype, or returns `None`.
macro_rules! with_primitive {
    ($dtype:expr, $f:ident($($arg:expr),*)) => {
        match $dtype {
            DType::I8 => Some($f::<Int8Type>($($arg),*)),
            DType::I16 => Some($f::<Int16Type>($($arg),*)),
            DType::I32 => Some($f::<Int32Type>($($arg),*)),
            DType::I64 => Some($f::<Int64Type>($($arg),*)),
            DType::U8 => Some($f::<UInt8Type>($($arg),*)),
            DType::U16 => Some($f::<UInt16Type>($($arg),*)),
            DType::U32 => Some($f::<UInt32Type>($($arg),*)),
            DType::U64 => Some($f::<UInt64Type>($($arg),*)),
            DType::F16 => Some($f::<Float16Type>($($arg),*)),
            DType::F32 => Some($f::<Float32Type>($($arg),*)),
            DType::F64 => Some($f::<Float64Type>($($arg),*)),
            _ => None,
        }
    };
}

impl Tensor {
    /// Makes a tensor of an Arrow array (feature `arrow`). The tensor shares the elements of an array of numbers. Bools
    /// and strings are copied. A fixed-size list gives another axis.
    ///
    /// ```
    /// use arrow_array::{Array, Float32Array, types::Float32Type};
    /// use shapeflow::Tensor;
    ///
    /// let array = Float32Array::from(vec![1.0, 2.0, 3.0, 4.0]);
    /// let tensor = Tensor::from_arrow(&array)?;
    /// assert_eq!(tensor, Tensor::from([1.0f32, 2.0, 3.0, 4.0]));
    /// assert_eq!(tensor.as_slice::<f32>()?.as_ptr(), array.values().as_ptr());
    ///
    /// let error = Tensor::from_arrow(&Float32Array::from(vec![Some(1.0), None])).unwrap_err();
    /// assert_eq!(error.message(), "an Arrow array must have no nulls, got a null at position 1");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Shape`: an element is null. `DType`: the array holds neither bools, numbers nor strings; for a list of variable
    /// length see [`RaggedTensor::from_arrow`](crate::RaggedTensor::from_arrow). `Memory`: the allocation of a copy
    /// fails.
    #[track_caller]
    pub fn from_arrow(array: &dyn Array) -> Result<Tensor> {
        at_caller(|| {
            check_no_nulls(array)?;
            match array.data_type() {
                DataType::Boolean => {
                    let bools: Vec<bool> = array.as_boolean().values().iter().collect();
                    Tensor::from_vec(&[bools.len()], bools)
                }
                DataType::Utf8 => strings(array.as_string::<i32>().iter()),
                DataType::LargeUtf8 => strings(array.as_string::<i64>().iter()),
                DataType::Binary => strings(array.as_binary::<i32>().iter()),
                DataType::LargeBinary => strings(array.as_binary::<i64>().iter()),
                DataType::FixedSizeList(_, size) => {
                    let values = Tensor::from_arrow(array.as_fixed_size_list().values())?;
                    values.reshape(&[&[array.len(), *size as usize], &values.sizes()[1..]].concat())
                }
                other => {
                    let shared =
                        dtype_of(other).and_then(|dtype| with_primitive!(dtype, shared(dtype, array)));
                    shared.unwrap_or_else(|| Err(not_a_tensor(other)))
                }
            }
        })
    }

    /// Returns an Arrow array of the elements (feature `arrow`). The array shares numbers; it copies bools and strings,
    /// which become a `LargeBinaryArray`. Every axis after the first gives a fixed-size list.
    ///
    /// ```
    /// use arrow_array::{Array, cast::AsArray, types::Int32Type};
    /// use shapeflow::Tensor;
    ///
    /// let tensor = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    /// let rows = tensor.to_arrow()?;
    /// let values = rows.as_fixed_size_list().values().as_primitive::<Int32Type>();
    /// assert_eq!(values.values(), &[1, 2, 3, 4, 5, 6]);
    /// assert_eq!(values.values().as_ptr(), tensor.as_slice::<i32>()?.as_ptr());
    /// assert_eq!(Tensor::from_arrow(&rows)?, tensor);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: Arrow has no type for the elements. `Shape`: the tensor has no axis, or the size of an axis exceeds
    /// `i32::MAX`.
    #[track_caller]
    pub fn to_arrow(&self) -> Result<ArrayRef> {
        at_caller(|| {
            let dtype = self.dtype();
            let mut array: ArrayRef = match dtype {
                DType::Bool => Arc::new(BooleanArray::from(self.to_vec::<bool>()?)),
                DType::String => Arc::new(LargeBinaryArray::from_iter_values(self.as_strings()?.iter())),
                _ => with_primitive!(dtype, lent(self)).ok_or_else(|| {
                    let message = format!("the dtype must be one that Arrow has, got {dtype}");
                    Error::new(ErrorKind::DType, Phase::Run, message)
                })?,
            };
            let Some(_) = self.sizes().first() else {
                let message = "a tensor must have an axis to be an Arrow array, got a scalar";
                return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
            };
            for axis in (1..self.sizes().len()).rev() {
                let rows = self.sizes()[..axis].iter().product();
                array = fixed_size_lists(array, self.sizes()[axis], rows)?;
            }
            Ok(array)
        })
    }
}

/// Returns an array of `rows` lists of `size` values each.
///
/// # Errors
/// `size` exceeds `i32::MAX`.
pub(crate) fn fixed_size_lists(values: ArrayRef, size: usize, rows: usize) -> Result<ArrayRef> {
    let length = i32::try_from(size).map_err(|_| {
        let message =
            format!("a fixed-size list must have at most {}, got {size}", counted(i32::MAX, "element"));
        Error::new(ErrorKind::Shape, Phase::Run, message)
    })?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), false));
    let lists = FixedSizeListArray::try_new_with_length(field, length, values, None, rows);
    Ok(Arc::new(lists.expect("there are as many values as the rows need")))
}

/// Checks that no element is null.
pub(crate) fn check_no_nulls(array: &dyn Array) -> Result<()> {
    let nulls = array.logical_nulls();
    let Some(position) = nulls.and_then(|nulls| nulls.iter().position(|is_valid| !is_valid)) else {
        return Ok(());
    };
    let message = format!("an Arrow array must have no nulls, got a null at position {position}");
    let error = Error::new(ErrorKind::Shape, Phase::Run, message);
    Err(error.with_help("replace the nulls or drop their rows first"))
}

fn not_a_tensor(got: &DataType) -> Error {
    let message = format!("an Arrow array must hold bools, numbers or strings, got {got}");
    let error = Error::new(ErrorKind::DType, Phase::Run, message);
    match got {
        DataType::List(_) | DataType::LargeList(_) => {
            error.with_help("make a ragged tensor with `RaggedTensor::from_arrow`")
        }
        _ => error,
    }
}

fn dtype_of(data_type: &DataType) -> Option<DType> {
    Some(match data_type {
        DataType::Int8 => DType::I8,
        DataType::Int16 => DType::I16,
        DataType::Int32 => DType::I32,
        DataType::Int64 => DType::I64,
        DataType::UInt8 => DType::U8,
        DataType::UInt16 => DType::U16,
        DataType::UInt32 => DType::U32,
        DataType::UInt64 => DType::U64,
        DataType::Float16 => DType::F16,
        DataType::Float32 => DType::F32,
        DataType::Float64 => DType::F64,
        _ => return None,
    })
}

/// Makes a tensor that shares the elements of an array.
fn shared<P: ArrowPrimitiveType>(dtype: DType, array: &dyn Array) -> Result<Tensor> {
    let elements = array.as_primitive::<P>().values().inner().clone();
    Tensor::from_owner(dtype, &[array.len()], Arc::new(elements))
}

/// Makes a tensor of copies of strings.
fn strings<S: AsRef<[u8]>>(strings: impl Iterator<Item = Option<S>>) -> Result<Tensor> {
    let strings: Vec<S> = strings.map(|string| string.expect("no element is null")).collect();
    Tensor::from_strings(&[strings.len()], &strings)
}

/// Returns an array that shares the elements of a tensor.
fn lent<P: ArrowPrimitiveType>(tensor: &Tensor) -> ArrayRef {
    Arc::new(PrimitiveArray::<P>::new(lent_elements(tensor), None))
}

/// Returns the elements of a tensor, whose type is `T`, as a buffer that shares them.
pub(crate) fn lent_elements<T: arrow_buffer::ArrowNativeType>(tensor: &Tensor) -> ScalarBuffer<T> {
    let bytes = Bytes::from_owner(TensorBytes(tensor.clone()));
    ScalarBuffer::from(ArrowBuffer::from(bytes))
}

/// The bytes of a tensor, which the tensor keeps alive.
struct TensorBytes(Tensor);

impl AsRef<[u8]> for TensorBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.view().bytes()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringArray, TimestampSecondArray};

    use super::*;

    #[test]
    fn every_dtype_of_arrow_goes_out_and_comes_back() {
        let arrow = DType::all().filter(|dtype| {
            let kept = Tensor::zeros(*dtype, &[2, 3, 2]).unwrap();
            match kept.to_arrow() {
                Ok(array) => {
                    assert_eq!(Tensor::from_arrow(&array).unwrap(), kept, "{dtype}");
                    true
                }
                Err(error) => {
                    let message = format!("the dtype must be one that Arrow has, got {dtype}");
                    assert_eq!(error.message(), message);
                    false
                }
            }
        });
        assert_eq!(arrow.count(), 13);
    }

    #[test]
    fn sizes_of_zero_go_out_and_come_back() {
        for sizes in [&[0][..], &[0, 3], &[3, 0], &[2, 0, 5], &[2, 5, 0], &[0, 0]] {
            let tensor = Tensor::zeros(DType::F64, sizes).unwrap();
            assert_eq!(Tensor::from_arrow(&tensor.to_arrow().unwrap()).unwrap(), tensor, "{sizes:?}");
        }
        let error = Tensor::scalar(1.0).to_arrow().unwrap_err();
        assert_eq!(error.message(), "a tensor must have an axis to be an Arrow array, got a scalar");
    }

    #[test]
    fn parts_of_arrays_are_shared() {
        let array = Int64Array::from(vec![1, 2, 3, 4, 5]);
        let part = array.slice(1, 3);
        let tensor = Tensor::from_arrow(&part).unwrap();
        assert_eq!(tensor.as_slice::<i64>().unwrap().as_ptr(), array.values()[1..].as_ptr());
        drop((array, part));
        assert_eq!(tensor, Tensor::from([2i64, 3, 4]));
        let bools = BooleanArray::from(vec![false, true, true, false]).slice(1, 3);
        assert_eq!(Tensor::from_arrow(&bools).unwrap(), Tensor::from([true, true, false]));
        let rows = Tensor::from([[1, 2], [3, 4], [5, 6]]).to_arrow().unwrap();
        assert_eq!(Tensor::from_arrow(&rows.slice(1, 2)).unwrap(), Tensor::from([[3, 4], [5, 6]]));
    }

    #[test]
    fn strings_are_copied() {
        let strings = StringArray::from(vec!["a", "", "bc"]);
        let tensor = Tensor::from_arrow(&strings).unwrap();
        assert_eq!(tensor, Tensor::from_strings(&[3], &["a", "", "bc"]).unwrap());
        assert_eq!(Tensor::from_arrow(&tensor.to_arrow().unwrap()).unwrap(), tensor);
    }

    #[test]
    fn other_types_and_nulls_are_refused() {
        let refused = |array: &dyn Array| Tensor::from_arrow(array).unwrap_err().message().to_string();
        assert_eq!(
            refused(&TimestampSecondArray::from(vec![1])),
            "an Arrow array must hold bools, numbers or strings, got Timestamp(s)"
        );
        assert_eq!(
            refused(&StringArray::from(vec![None, Some("a")])),
            "an Arrow array must have no nulls, got a null at position 0"
        );
    }
}

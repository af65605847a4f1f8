//! Partially known tensor shapes, symbolic dimensions, and the shape functions of tensor ops.
//!
//! A [`TensorShape`] is unranked or has one [`Dim`] per axis. A `Dim` is a number, a symbol (named, or `?`), or an
//! expression of symbols in canonical form. A [`DimTable`] holds the knowledge of a graph about its dimensions:
//! equalities, and conditions ([`Guard`]) that must be checked when sizes are known.
//!
//! A shape function ([`ShapeFn`]) reads the operands and attributes of one op from an [`InferenceContext`] and sets the
//! shapes of the outputs. The function also tracks the elements of integer tensors of at most [`PartialElements::MAX`]
//! elements, so that shapes computed from shapes stay known. [`lookup`] finds the shape function of a TensorFlow op
//! type. The modules group shape functions by family.
//!
//! ```
//! use shapeflow_shape_fns::{Attrs, DType, DimTable, InferenceContext, OperandInfo, lookup, shape};
//!
//! let mut table = DimTable::new();
//! let images = table.import(&shape!["batch", 8, 8]);
//! let pixels = table.import(&shape![?, 64]);
//!
//! // reshape(images, [-1, 64]) keeps the name of the batch dimension.
//! let operands = [OperandInfo { shape: &images, dtype: DType::F32, value: None }];
//! let attrs = Attrs::new().with("shape", [-1, 64]);
//! let mut cx = InferenceContext::new(&["x"], &operands, &attrs, &mut table, 1);
//! (lookup("Reshape").ok_or("no such op")?.shape_fn)(&mut cx)?;
//! let flat = cx.finish()?.shapes()[0].clone();
//! assert_eq!(flat.to_string(), "[batch, 64]");
//!
//! // concat(flat, pixels) adds the sizes along the axis.
//! let operands = [&flat, &pixels].map(|shape| OperandInfo { shape, dtype: DType::F32, value: None });
//! let attrs = Attrs::new().with("axis", 0);
//! let mut cx = InferenceContext::new(&["values.."], &operands, &attrs, &mut table, 1);
//! shapeflow_shape_fns::array::concat(&mut cx)?;
//! assert_eq!(cx.finish()?.shapes()[0].to_string(), "[?+batch, 64]");
//!
//! // matmul(flat, weights) is refused, and the message names the sizes that disagree.
//! let weights = shape![32, 10];
//! let operands = [&flat, &weights].map(|shape| OperandInfo { shape, dtype: DType::F32, value: None });
//! let attrs = Attrs::new();
//! let mut cx = InferenceContext::new(&["a", "b"], &operands, &attrs, &mut table, 1);
//! let error = shapeflow_shape_fns::linalg::matmul(&mut cx).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "the inner dimensions of a matmul must agree, got 64 and 32 in [batch, 64] and [32, 10]"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//! - Dimensions that are `==` are equal for all values of their symbols. Arithmetic is checked: an overflow is an
//!   error.
//! - Whatever a shape function infers from partially known operands holds for all concrete operands that it accepts.
//!   For fully known operands and parameters every dimension is known, except dimensions that depend on the data.
//! - An undecided condition is never an error: it becomes a guard.
//! - No input makes a function of this crate panic. No text and no chain of equalities exhausts the stack. The
//!   methods of [`Attrs`] that read an attribute are the exception: they panic if the definition of the op does not
//!   declare the attribute.
//!
//! # Differences from TensorFlow
//! TensorFlow's shape functions are the reference. `tests/data/differences` of this crate lists every difference in
//! TensorFlow's own test cases.
//!
//! The functions here infer more: expressions, equalities, and the elements of every integer op.
//!
//! TensorFlow refuses some graphs only when they run. The functions here refuse these graphs when they are built:
//! - a reshape with two sizes of -1, a slice past the end, a known index outside the range of a gather;
//! - a permutation or a reduction that names an axis twice, an `argmax` over an empty axis;
//! - a range with step 0, negative multiples and sizes, `unique` of a matrix;
//! - a sparse tensor whose indices, values and shape disagree.
//!
//! Further differences:
//! - A strided slice whose stride points away from its end is known to have no elements.
//! - `reverse` takes any rank, and `einsum` takes any number of operands.
//! - `substr` takes `pos` and `len` even if the shape of one of them is unknown.
//! - An unknown axis of `split_v` is not assumed to be the last axis.
//! - A window of image patches that is larger than the image by less than two strides gives an output of size 0, as in
//!   TensorFlow's kernel. So does a window of a convolution or pool along an axis of unknown size.
//! - A convolution or pool whose window may not fit records a guard.
//! - Softmax cross entropy also broadcasts unknown dimensions.
//! - A Fourier transform over named axes takes its lengths as given.
//!
//! # Counterparts of `tf.TensorShape`, `tf.compat.v1.Dimension` and the `Shape` of TensorFlow Java
//! Errors of these methods use TensorFlow's wording, with shapes in this crate's notation: `Shapes [1] and [1, 2] must
//! have the same rank`. TensorFlow's unknown dimensions have no identity. Here they are symbols, and a symbol equals
//! itself.
//!
//! | `tf.TensorShape` (2.x, and 1.15 where it differs) | here |
//! |---|---|
//! | `TensorShape([2, None])` of lists, generators, numbers | [`shape!`]`[2, ?]`, `TensorShape::from([Some(2), None])`, `collect`, `TensorShape::from(3)`; `-1` is refused by [`validate`](TensorShape::validate) |
//! | `TensorShape(None)`, `unknown_shape(rank)` | [`unranked`](TensorShape::unranked), [`unknown_of_rank`](TensorShape::unknown_of_rank) |
//! | `dims`, `iter`, `len`, `bool` | [`dims`](TensorShape::dims), which is `None` where Python raises |
//! | `rank`, `ndims` | [`rank`](TensorShape::rank) |
//! | `shape[i]` | [`dim`](TensorShape::dim), [`size`](TensorShape::size) |
//! | `shape[i:j]` | [`slice`](TensorShape::slice) |
//! | `as_list` | [`as_list`](TensorShape::as_list); [`as_known`](TensorShape::as_known) if all are numbers |
//! | `num_elements` | [`num_elements`](TensorShape::num_elements), an expression where Python has `None` |
//! | `concatenate`, `+` | [`concatenate`](TensorShape::concatenate), `+` |
//! | `merge_with` | [`merge_with`](TensorShape::merge_with) |
//! | `is_compatible_with`, `assert_is_compatible_with` | the same: [`is_compatible_with`](TensorShape::is_compatible_with), [`assert_is_compatible_with`](TensorShape::assert_is_compatible_with) |
//! | `with_rank`, `with_rank_at_least`, `with_rank_at_most`, `assert_has_rank` | the same: [`with_rank`](TensorShape::with_rank), [`with_rank_at_least`](TensorShape::with_rank_at_least), [`with_rank_at_most`](TensorShape::with_rank_at_most), [`assert_has_rank`](TensorShape::assert_has_rank) |
//! | `assert_same_rank` | [`has_same_rank`](TensorShape::has_same_rank), [`assert_same_rank`](TensorShape::assert_same_rank) |
//! | `is_fully_defined`, `assert_is_fully_defined` | the same: [`is_fully_defined`](TensorShape::is_fully_defined), [`assert_is_fully_defined`](TensorShape::assert_is_fully_defined) |
//! | `is_subtype_of` | [`is_subtype_of`](TensorShape::is_subtype_of) |
//! | `most_specific_common_supertype`, `most_specific_compatible_shape` | the same: [`most_specific_common_supertype`](TensorShape::most_specific_common_supertype), [`most_specific_compatible_shape`](TensorShape::most_specific_compatible_shape) |
//! | `==` (2.x) | [`equals_v2`](TensorShape::equals_v2); `==` and `Hash` also compare symbols |
//! | `==`, `!=` (1.15) | [`same`](TensorShape::same): `None` where 1.15 answers neither equal nor unequal |
//! | `as_proto`, `TensorShape(proto)`, `experimental_as_proto`, `experimental_from_proto` | [`as_proto`](TensorShape::as_proto), [`from_proto`](TensorShape::from_proto) |
//! | `str` | `Display`, and [`FromStr`](std::str::FromStr) back |
//!
//! | `tf.compat.v1.Dimension` | here |
//! |---|---|
//! | `Dimension(3)`, `Dimension(None)` | [`Dim::known`], [`Dim::UNKNOWN`], [`Dim::symbol`] |
//! | `value`, `int`, `index` | [`as_known`](Dim::as_known) |
//! | `+`, `-`, `*`, `%` | the same operators, also with a number on the left; [`checked_add`](Dim::checked_add) and similar methods return errors |
//! | `//` | [`floordiv`](Dim::floordiv), and [`ceil_div`](Dim::ceil_div) |
//! | `/`, which raises an error | absent |
//! | `<`, `<=`, `>`, `>=` | [`lt`](Dim::lt), [`le`](Dim::le), [`gt`](Dim::gt), [`ge`](Dim::ge), [`compare`](Dim::compare) |
//! | `==`, `!=` | [`same`](Dim::same); `==` compares canonical forms |
//! | `is_compatible_with`, `assert_is_compatible_with`, `merge_with` | the same: [`is_compatible_with`](Dim::is_compatible_with), [`assert_is_compatible_with`](Dim::assert_is_compatible_with), [`merge_with`](Dim::merge_with) |
//!
//! | `Shape` in TensorFlow Java | here |
//! |---|---|
//! | `of(2, -1)`, `scalar()`, `unknown()` | [`shape!`]`[2, ?]`, [`scalar`](TensorShape::scalar), [`unranked`](TensorShape::unranked) |
//! | `numDimensions()`, `asArray()` | [`rank`](TensorShape::rank), [`dims`](TensorShape::dims): `None` for -1 and null |
//! | `size()`, `size(i)` | [`num_elements`](TensorShape::num_elements), [`size`](TensorShape::size): `None` for `UNKNOWN_SIZE` |
//! | `isUnknown`, `isScalar`, `isVector`, `isMatrix` | [`is_unranked`](TensorShape::is_unranked), [`is_scalar`](TensorShape::is_scalar), [`is_vector`](TensorShape::is_vector), [`is_matrix`](TensorShape::is_matrix) |
//! | `hasUnknownDimension` | [`has_unknown_dimension`](TensorShape::has_unknown_dimension) |
//! | `head`, `tail`, `take`, `takeLast`, `subShape` | [`head`](TensorShape::head), [`tail`](TensorShape::tail), [`take`](TensorShape::take), [`take_last`](TensorShape::take_last), [`sub_shape`](TensorShape::sub_shape) |
//! | `append`, `prepend`, of numbers and shapes | [`append`](TensorShape::append), [`prepend`](TensorShape::prepend) |
//! | `isCompatibleWith`, `isCompatible(long, long)` | [`TensorShape::is_compatible_with`], [`Dim::is_compatible_with`] |
//! | `equals`, `hashCode` | [`definitely_equals`](TensorShape::definitely_equals), `Hash` |
//! | `toString` | `Display` |
#![deny(missing_docs)]

mod counted;
mod dim;
mod dtype;
mod error;
mod infer;
mod ops;
mod shape;
#[cfg(test)]
mod testing;

pub use counted::counted;
pub use dim::{
    Bounds, Dim, DimFactor, DimFunction, Guard, IntoDim, Symbol, SymbolKind, SymbolNames, Unknown,
};
pub use dtype::DType;
pub use error::{Result, ShapeError};
pub use infer::{
    Attr, AttrName, Attribute, Attrs, DimBroadcast, DimTable, Equality, GuardRecord, InferenceContext,
    InferenceResult, List, Mark, OperandInfo, Param, Provenance, Registered, ShapeFn, normalize_axis,
};
pub use ops::{
    array, audio, common, control, ctc, image, linalg, lookup, math, media, nn, quantize, ragged, random,
    reduce, registered, segment, sparse, string,
};
pub use shape::{PartialElements, Sizes, TensorShape};

//! [`Nested`], `ragged!`: ragged tensors from and to nested lists.

use super::{RaggedItem, RaggedTensor, RowPartition, shape_error};
use crate::error::{Result, at_caller};
use crate::tensor::{Element, Tensor};
use shapeflow_shape_fns::{DType, counted};

/// A nested list: an element, or a list of nested lists.
#[derive(Clone, PartialEq, Debug)]
pub enum Nested<T> {
    /// An element.
    Item(T),
    /// A list.
    List(Vec<Nested<T>>),
}

/// A type that converts into a nested list: an element, or vectors, arrays and slices of such types.
pub trait IntoNested<T> {
    /// Converts the value to a nested list.
    fn into_nested(self) -> Nested<T>;
}

impl<T> IntoNested<T> for Nested<T> {
    fn into_nested(self) -> Nested<T> {
        self
    }
}

impl<T: Element> IntoNested<T> for T {
    fn into_nested(self) -> Nested<T> {
        Nested::Item(self)
    }
}

impl IntoNested<String> for String {
    fn into_nested(self) -> Nested<String> {
        Nested::Item(self)
    }
}

impl IntoNested<String> for &str {
    fn into_nested(self) -> Nested<String> {
        Nested::Item(self.to_string())
    }
}

impl<T, N: IntoNested<T>> IntoNested<T> for Vec<N> {
    fn into_nested(self) -> Nested<T> {
        Nested::List(self.into_iter().map(IntoNested::into_nested).collect())
    }
}

impl<T, N: IntoNested<T>, const A: usize> IntoNested<T> for [N; A] {
    fn into_nested(self) -> Nested<T> {
        Nested::List(self.into_iter().map(IntoNested::into_nested).collect())
    }
}

impl<T, N: IntoNested<T> + Clone> IntoNested<T> for &[N] {
    fn into_nested(self) -> Nested<T> {
        Nested::List(self.iter().cloned().map(IntoNested::into_nested).collect())
    }
}

/// An element of nested lists: a number, a bool, or a string.
pub trait NestedElement: Sized {
    /// Makes a vector of elements.
    ///
    /// # Errors
    /// Memory is refused.
    #[doc(hidden)]
    fn into_flat(items: Vec<Self>) -> Result<Tensor>;
}

impl<T: Element> NestedElement for T {
    fn into_flat(items: Vec<T>) -> Result<Tensor> {
        Ok(Tensor::from(items))
    }
}

impl NestedElement for String {
    fn into_flat(items: Vec<String>) -> Result<Tensor> {
        Tensor::from_strings(&[items.len()], &items)
    }
}

impl NestedElement for &str {
    fn into_flat(items: Vec<&str>) -> Result<Tensor> {
        Tensor::from_strings(&[items.len()], &items)
    }
}

/// An element that nested lists own: a number, a bool, or a [`String`].
pub trait OwnedElement: NestedElement + Clone {
    /// Returns the elements of a tensor in row-major order.
    ///
    /// # Errors
    /// The elements are not `Self`, or a string is not UTF-8.
    #[doc(hidden)]
    fn elements_of(tensor: &Tensor) -> Result<Vec<Self>>;
}

impl<T: Element> OwnedElement for T {
    fn elements_of(tensor: &Tensor) -> Result<Vec<T>> {
        tensor.to_vec()
    }
}

impl OwnedElement for String {
    fn elements_of(tensor: &Tensor) -> Result<Vec<String>> {
        let strings = tensor.as_strings()?.iter().enumerate();
        let text = |(position, bytes): (usize, &[u8])| {
            String::from_utf8(bytes.to_vec()).map_err(|_| {
                shape_error(format!(
                    "the strings of a nested list must be UTF-8, got {bytes:?} at position {position}"
                ))
            })
        };
        strings.map(text).collect()
    }
}

impl RaggedTensor {
    /// Makes a ragged tensor of nested lists. Every axis after the first is ragged.
    ///
    /// ```
    /// use shapeflow::RaggedTensor;
    ///
    /// let rt = RaggedTensor::from_nested(vec![vec![1.5f32, 2.5], vec![], vec![3.5]])?;
    /// assert_eq!(rt.to_string(), "[[1.5, 2.5], [], [3.5]]");
    /// let words = RaggedTensor::from_nested(vec![vec!["a", "bc"], vec![]])?;
    /// assert_eq!(words.to_string(), "[[\"a\", \"bc\"], []]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// Elements have different depths, or the depth is less than 2.
    #[track_caller]
    pub fn from_nested<T: NestedElement>(nested: impl IntoNested<T>) -> Result<RaggedTensor> {
        at_caller(|| {
            let nested = nested.into_nested();
            let depth = depth(&nested);
            if depth < 2 {
                return Err(shape_error(format!("a ragged tensor must have at least 2 axes, got {depth}")));
            }
            let mut ends = vec![vec![0usize]; depth - 1];
            let mut flat = Vec::new();
            let Nested::List(rows) = nested else { unreachable!("an element has depth 0") };
            for row in rows {
                collect(row, 0, &mut ends, &mut flat)?;
            }
            let partitions =
                ends.into_iter().map(|ends| RowPartition::of_offsets(DType::I64, ends.into_iter()));
            Ok(RaggedTensor { flat: T::into_flat(flat)?, partitions: partitions.collect::<Result<_>>()? })
        })
    }

    /// Returns nested lists of the elements, as TensorFlow's `to_list`.
    ///
    /// ```
    /// use shapeflow::{IntoNested, ragged};
    ///
    /// let rt = ragged![[1, 2], [], [3]];
    /// assert_eq!(rt.to_nested::<i32>()?, vec![vec![1, 2], vec![], vec![3]].into_nested());
    /// let words = ragged![["a", "bc"], []];
    /// assert_eq!(words.to_nested::<String>()?, vec![vec!["a", "bc"], vec![]].into_nested());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not `T`, or a string is not UTF-8.
    #[track_caller]
    pub fn to_nested<T: OwnedElement>(&self) -> Result<Nested<T>> {
        at_caller(|| RaggedItem::Ragged(self.clone()).to_nested())
    }
}

impl RaggedItem {
    /// Returns nested lists of the elements.
    ///
    /// # Errors
    /// The elements are not `T`, or a string is not UTF-8.
    #[track_caller]
    pub fn to_nested<T: OwnedElement>(&self) -> Result<Nested<T>> {
        at_caller(|| {
            let (flat, partitions) = self.clone().into_parts();
            let mut items: Vec<Nested<T>> = T::elements_of(&flat)?.into_iter().map(Nested::Item).collect();
            for axis in (1..flat.sizes().len()).rev() {
                let (rows, size) = (flat.sizes()[..axis].iter().product(), flat.sizes()[axis]);
                let mut rest = items.into_iter();
                items = (0..rows).map(|_| Nested::List(rest.by_ref().take(size).collect())).collect();
            }
            for partition in partitions.iter().rev() {
                items = partition.ranges().map(|range| Nested::List(items[range].to_vec())).collect();
            }
            if flat.sizes().is_empty() {
                return Ok(items.remove(0));
            }
            Ok(Nested::List(items))
        })
    }
}

/// Returns the number of axes of a nested list.
fn depth<T>(nested: &Nested<T>) -> usize {
    match nested {
        Nested::Item(_) => 0,
        Nested::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
    }
}

/// Appends the elements of a row of axis `axis` to `flat`, and the ends of its lists to `ends`.
fn collect<T>(nested: Nested<T>, axis: usize, ends: &mut [Vec<usize>], flat: &mut Vec<T>) -> Result<()> {
    match (nested, axis == ends.len()) {
        (Nested::Item(item), true) => flat.push(item),
        (Nested::List(items), false) => {
            for item in items {
                collect(item, axis + 1, ends, flat)?;
            }
            let end = ends.get(axis + 1).map_or(flat.len(), |inner| inner.len() - 1);
            ends[axis].push(end);
        }
        (Nested::Item(_), false) => {
            let (depth, got) = (ends.len() + 1, axis + 1);
            return Err(shape_error(format!(
                "all elements must be {depth} deep, got one {got} deep",
                depth = counted(depth, "list")
            )));
        }
        (Nested::List(_), true) => {
            unreachable!("no list is deeper than the greatest depth of the lists");
        }
    }
    Ok(())
}

/// Makes a [`RaggedTensor`] of nested lists, as TensorFlow's `tf.ragged.constant`.
///
/// ```
/// use shapeflow::ragged;
///
/// assert_eq!(ragged![[3, 1, 4, 1], [], [5, 9, 2], [6], []].shape().to_string(), "[5, ?]");
/// assert_eq!(ragged![[[1.5, 2.5], []], [[3.5]]].shape().to_string(), "[2, ?, ?]");
/// assert_eq!(ragged![["a", "b"], []].to_string(), "[[\"a\", \"b\"], []]");
/// assert_eq!(ragged![[-1, 2 + 3], [4]].to_string(), "[[-1, 5], [4]]");
/// ```
///
/// # Panics
/// Elements have different depths, or the depth is less than 2.
#[macro_export]
macro_rules! ragged {
    ($($row:tt),* $(,)?) => {
        $crate::RaggedTensor::from_nested($crate::Nested::List(vec![$($crate::ragged!(@ $row)),*]))
            .expect("all elements of ragged! must be equally deep")
    };
    (@ [$($item:tt),* $(,)?]) => {
        $crate::Nested::List(vec![$($crate::ragged!(@ $item)),*])
    };
    // A list whose elements are expressions of several tokens, such as -1.
    (@ [$($item:expr),* $(,)?]) => {
        $crate::Nested::List(vec![$($crate::Nested::Item($item)),*])
    };
    (@ $item:expr) => {
        $crate::Nested::Item($item)
    };
}

//! Ops that a ragged value has on its inner axes only, or not at all: the errors say what to use instead.

use shapeflow_shape_fns::counted;

use super::errors::refuse;
use super::reduce::rank_of;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{RaggedValue, Value};

impl<'g> RaggedValue<'g> {
    /// Pads the inner axes of the flat values with zeros. `paddings` has every axis; it is zero for axis 0 and the
    /// partitioned axes.
    ///
    /// As [`Value::pad`] on the flat values.
    ///
    /// # Errors
    /// There is not one padding for each axis, or a padding of axis 0 or of a partitioned axis is not zero; else as
    /// [`Value::pad`].
    #[track_caller]
    pub fn pad(self, paddings: &[[i64; 2]]) -> Result<RaggedValue<'g>> {
        self.in_call("pad", || {
            let depth = self.ragged_rank();
            let rank = rank_of(self)?;
            if paddings.len() != rank {
                let message = format!(
                    "there must be one padding for each of {rank}, got {}",
                    paddings.len(),
                    rank = counted(rank, "axis")
                );
                return Err(refuse(self.graph(), ErrorKind::Shape, message));
            }
            if paddings[..=depth].iter().any(|padding| *padding != [0, 0]) {
                let message = "the partitioned axes of a ragged value cannot be padded".to_string();
                return Err(unmoved(self, message).with_help(
                    "use concat to add items to each row, or to_tensor_with for rows of one length",
                ));
            }
            self.map_flat_values(|flat| flat.pad(&paddings[depth..]))
        })
    }

    /// Refuses: a slice of one size does not fit rows of different lengths. [`slice_with`](Self::slice_with) cuts each
    /// row to a range, as in `rt.slice_with(&slice![.., 1..3])`.
    ///
    /// Adds no op: the method exists only for its error message, which is the same for every shape and dtype. TensorFlow
    /// has no such op.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// let error = rt.slice(&[0, 0], &[1, 1]).unwrap_err();
    /// assert!(error.to_string().contains("slice_with"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// Always.
    #[track_caller]
    pub fn slice(self, _begin: &[i64], _size: &[i64]) -> Result<RaggedValue<'g>> {
        self.in_call("slice", || {
            let message = "a ragged value has no slice of one size, because a row may be shorter".to_string();
            Err(unmoved(self, message).with_help("use slice_with, which cuts each row to a range"))
        })
    }

    /// Refuses: rows of different lengths are not compared. `flat_values().unique()` finds the unique elements.
    ///
    /// Adds no op: the method exists only for its error message, which is the same for every shape and dtype. TensorFlow
    /// has no such op.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [2]])?;
    /// assert!(rt.unique().is_err());
    /// let [elements, _] = rt.flat_values().unique()?;
    /// let [elements] = g.compile(elements)?.run(&[])?;
    /// assert_eq!(elements, Tensor::from([1, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// Always.
    #[track_caller]
    pub fn unique(self) -> Result<[Value<'g>; 2]> {
        self.in_call("unique", || {
            let message = "the rows of a ragged value are not compared with each other".to_string();
            Err(unmoved(self, message).with_help(
                "use flat_values().unique() for the unique elements, or to_tensor and unique_slices for the unique rows",
            ))
        })
    }
}

fn unmoved(value: RaggedValue<'_>, message: String) -> Error {
    refuse(value.graph(), ErrorKind::Shape, format!("{message}, got {}", value.shape_text()))
}

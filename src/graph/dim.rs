//! One dimension of a value, and dimensions that are equal in every graph that has some values.

use std::panic::Location;

use shapeflow_shape_fns::Dim;

use super::needed_nodes::first_equality_of_others;
use super::{Graph, IntoParam, Value, ValueIx};
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result, is_library_line};

impl<'g> Value<'g> {
    /// Returns one dimension of the shape; a negative axis counts from the end.
    ///
    /// A dimension with a name may stand in any graph, where the name is found again. A dimension without a name
    /// belongs to this graph, or to the branch or loop body that made it. Other graphs and bodies refuse it: see
    /// [`guide::shapes`](crate::guide::shapes#dimensions-outside-their-graph).
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 4])?;
    /// let flat = x.reshape(4 * x.dim(0)?)?;
    /// assert_eq!(flat.dim(-1)?.to_string(), "4*n");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown, or there is no such axis.
    #[track_caller]
    pub fn dim(self, axis: impl IntoParam<'g>) -> Result<Dim> {
        let location = Location::caller();
        let axis = axis.into_param().known_int("axis").map_err(|error| error.at(location))?;
        self.index()?;
        let shape = self.shape();
        let call = self.graph().read().call.filter(|_| is_library_line(location));
        shape.dim(axis).cloned().ok_or_else(|| {
            let message = match shape.rank() {
                Some(rank) => format!("axis must be in [-{rank}, {rank}), got {axis}"),
                None => "the rank must be known".to_string(),
            };
            let text = format!("dim({}, axis={axis})", type_text(self.dtype(), &shape));
            let error = Error::new(ErrorKind::Shape, Phase::Build, message).with_op("dim", text);
            let error = match shape.rank() {
                None => error.with_help("give the rank with .ensure_shape(..)"),
                Some(_) => error,
            };
            error.at(call.unwrap_or(location))
        })
    }

    /// Returns one dimension as a dim that depends only on the nodes that compute the value, so it is the size in every
    /// graph that has them; `None` if no such dim is known. [`Value::dim`] may return a number or a symbol of another
    /// value, because another node found that they are equal. A graph without that node does not know the equality.
    ///
    /// # Errors
    /// As [`Value::dim`].
    pub(crate) fn own_dim(self, axis: usize) -> Result<Option<Dim>> {
        let (index, dim) = (self.index()?, self.dim(axis as i64)?);
        let data = self.graph().read();
        let Some(first) = first_equality_of_others(&data, &[index], &dim) else { return Ok(Some(dim)) };
        let info = &data.values[index.index()];
        // The shape was inferred before these equalities were known.
        let is_older = info.node.0 < first;
        Ok(info.shape.dims().filter(|_| is_older).map(|dims| dims[axis].clone()))
    }
}

impl Graph {
    /// As [`Graph::same_dim`], but the result is `Some(true)` only if the dimensions are equal in every graph that has
    /// `values`. A graph without the node that found an equality does not know the equality.
    pub(crate) fn same_dim_given(&self, values: &[Value<'_>], a: &Dim, b: &Dim) -> Result<Option<bool>> {
        let values: Vec<ValueIx> = values.iter().map(|value| value.index()).collect::<Result<_>>()?;
        let data = self.read();
        let same = data.table.same(a, b);
        if same != Some(true) {
            return Ok(same);
        }
        Ok(same.filter(|_| first_equality_of_others(&data, &values, a).is_none()))
    }
}

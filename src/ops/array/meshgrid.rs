//! `meshgrid`: coordinate tensors of a grid.

use shapeflow_shape_fns::{Dim, TensorShape};

use crate::error::Result;
use crate::graph::Value;

use super::concat::first_of;

/// The order of the axes of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum GridOrder {
    /// Axis 0 belongs to the second vector and axis 1 to the first, as rows and columns of a picture do.
    #[default]
    Xy,
    /// Axis `i` belongs to vector `i`.
    Ij,
}

/// Makes the coordinates of a grid: tensor `i` holds the elements of vector `i` along its axis, repeated along the
/// other axes. A scalar counts as a vector of one element, and a value of higher rank as the vector of its elements.
///
/// `[n0], [n1], …, [nk] -> k+1 × [n0, n1, …, nk]`, with the first two axes swapped for [`GridOrder::Xy`]; any dtypes.
/// As TensorFlow's `tf.meshgrid`. Fuses into kernels.
///
/// ```
/// use shapeflow::{Graph, GridOrder, meshgrid};
///
/// let g = Graph::new();
/// let grid = meshgrid(&[g.constant([1, 2, 3])?, g.constant([4, 5])?], GridOrder::Xy)?;
/// let [x, y] = g.compile([grid[0], grid[1]])?.run(&[])?;
/// assert_eq!((x.sizes(), x.to_vec::<i32>()?), (&[2, 3][..], vec![1, 2, 3, 1, 2, 3]));
/// assert_eq!(y.to_vec::<i32>()?, [4, 4, 4, 5, 5, 5]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no vectors.
#[track_caller]
pub fn meshgrid<'g>(vectors: &[Value<'g>], order: GridOrder) -> Result<Vec<Value<'g>>> {
    let _ = first_of(vectors, "meshgrid")?;
    let mut sizes: Vec<Dim> = Vec::with_capacity(vectors.len());
    let mut flat = Vec::with_capacity(vectors.len());
    for vector in vectors {
        let vector = if vector.shape().rank() == Some(1) { *vector } else { vector.reshape([-1])? };
        sizes.push(vector.dim(0)?);
        flat.push(vector);
    }
    let swaps = order == GridOrder::Xy && vectors.len() > 1;
    let axis_of = |number: usize| if swaps && number < 2 { 1 - number } else { number };
    if swaps {
        sizes.swap(0, 1);
    }
    let mut grid = Vec::with_capacity(vectors.len());
    for (number, vector) in flat.into_iter().enumerate() {
        let axis = axis_of(number);
        let mut own = vec![Dim::known(1); sizes.len()];
        own[axis] = sizes[axis].clone();
        grid.push(vector.reshape(TensorShape::from(own))?.broadcast_to(TensorShape::from(sizes.clone()))?);
    }
    Ok(grid)
}

#[cfg(test)]
mod tests {
    use super::{GridOrder, meshgrid};
    use crate::graph::Graph;

    #[test]
    fn scalars_and_matrices_are_flattened() {
        let g = Graph::new();
        let (x, y) = (g.constant([[1, 2], [3, 4]]).unwrap(), g.constant(5).unwrap());
        let grid = meshgrid(&[x, y], GridOrder::Ij).unwrap();
        let [x, y] = g.compile([grid[0], grid[1]]).unwrap().run(&[]).unwrap();
        assert_eq!((x.sizes(), x.to_vec::<i32>().unwrap()), (&[4, 1][..], vec![1, 2, 3, 4]));
        assert_eq!(y.to_vec::<i32>().unwrap(), [5; 4]);
    }
}

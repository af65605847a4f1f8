//! `nearest_neighbors`: the centers that are nearest to each point.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::window::{dims_of, of_rank, param_dims, refuse};
use crate::dtype;
use crate::error::{Error, Result};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::array::range::dim_value;
use crate::ops::array::unstack::exactly;
use crate::ops::reduce::Axes;

impl<'g> Value<'g> {
    /// Returns, for each point, the numbers of the `k` nearest centers, from the nearest on, and their squared
    /// Euclidean distances. If there are fewer than `k` centers, all of them are returned. Of equally near centers, the
    /// one with the lower number comes first.
    ///
    /// `points [n, d], centers [m, d] -> i64[n, min(k, m)], f32[n, min(k, m)]`, f32. A distance is
    /// `|point|^2 - 2 * point * center + |center|^2`, so its error is relative to the squares of the coordinates. As
    /// TensorFlow's `NearestNeighbors`, which refuses 0 points. The op is composed of a product, which runs in matmul
    /// kernels, and of `top_k`, which runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let points = g.constant([[0.0f32, 0.0], [3.0, 4.0]])?;
    /// let centers = g.constant([[1.0f32, 0.0], [3.0, 3.0], [9.0, 9.0]])?;
    /// let [centers, distances] = g.compile(points.nearest_neighbors(centers, 2)?)?.run(&[])?;
    /// assert_eq!(centers, Tensor::from([[0i64, 1], [1, 0]]));
    /// assert_eq!(distances, Tensor::from([[1.0f32, 18.0], [1.0, 20.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand is not an f32 matrix, the numbers of columns differ, or `k` is negative.
    #[doc(alias = "knn")]
    #[doc(alias = "cdist")]
    #[track_caller]
    pub fn nearest_neighbors(
        self,
        centers: impl IntoOperand<'g>,
        k: impl IntoParam<'g>,
    ) -> Result<[Value<'g>; 2]> {
        let location = Location::caller();
        let call = self.graph().op(&DEF).data(self).data(centers.into_operand(self, location));
        exactly(call.size("k", k).finish_all_at(location)?.into_vec())
    }
}

pub(crate) static DEF: OpDef = OpDef::composite("nearest_neighbors", build)
    .operands(&[Operand::Data("points"), Operand::Data("centers"), Operand::Size("k")])
    .outputs(|_, _| 2)
    .dtype_rule(|_, _| Ok(vec![DType::I64, DType::F32]))
    .tensorflow(&[TfOp::new("NearestNeighbors")]);

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [points, centers, given @ ..] = values else {
        return Err(Error::msg("nearest_neighbors needs points and centers"));
    };
    for (name, value) in [("points", points), ("centers", centers)] {
        if value.dtype() != DType::F32 {
            return dtype::refuse(format!("{name} must be f32, got {}", value.dtype()));
        }
    }
    let (points, centers) = (of_rank(*points, 2, "points")?, of_rank(*centers, 2, "centers")?);
    let inner = points.matmul(centers.transpose([1, 0])?)?;
    let half_norm = |x: Value<'g>| x.square()?.reduce_sum(Axes::of([1]))?.mul(0.5);
    let (of_points, of_centers) = (half_norm(points)?.expand_dims(1)?, half_norm(centers)?);
    let distances = of_centers.sub(inner)?.add(of_points)?.mul(2.0)?;
    let count = dims_of(centers)[0].clone();
    let [values, places] = match param_dims(cx.attrs(), "k", given.first()).as_deref() {
        Some([k]) if k.as_known().is_some_and(|k| k < 0) => {
            return refuse(format!("k must not be negative, got {k}"));
        }
        Some([k]) => distances.neg()?.top_k(k.min(count)?)?,
        _ => {
            let k = given.first().ok_or_else(|| Error::msg("nearest_neighbors needs k"))?;
            let count = dim_value(points.graph(), count)?;
            distances.neg()?.top_k(k.cast(DType::I64)?.minimum(count)?)?
        }
    };
    Ok(vec![places, values.neg()?.maximum(0.0)?])
}

#[cfg(test)]
mod tests {
    use crate::graph::Graph;
    use crate::{DType, Tensor, shape};

    #[test]
    fn neighbors_are_found_by_a_loop_over_all_centers() {
        let g = Graph::new();
        let points = g.input("points", DType::F32, shape!["n", 3]).unwrap();
        let centers = g.input("centers", DType::F32, shape!["m", 3]).unwrap();
        let fed = g.input("k", DType::I64, shape![]).unwrap();
        let few = points.nearest_neighbors(centers, 4).unwrap();
        let of_fed = points.nearest_neighbors(centers, fed).unwrap();
        assert!(few[0].shape().to_string().contains("min("), "{}", few[0].shape());
        let exe = g.compile([few[0], few[1], of_fed[0], of_fed[1]]).unwrap();
        for (n, m) in [(0usize, 3usize), (5, 9), (2, 4), (4, 2), (1, 1)] {
            let element = |i: usize| (i * 7919 % 23) as f32 - 11.0;
            let xs: Vec<f32> = (0..3 * n).map(element).collect();
            let ys: Vec<f32> = (0..3 * m).map(|i| element(i + 5)).collect();
            let operands = [Tensor::from_vec(&[n, 3], xs.clone()), Tensor::from_vec(&[m, 3], ys.clone())];
            let [x, y] = operands.map(Result::unwrap);
            let outputs = exe.run_all(&[x.view(), y.view(), Tensor::from(4i64).view()]).unwrap();
            let (mut places, mut distances) = (Vec::new(), Vec::new());
            for point in xs.chunks(3) {
                let squares = |y: &[f32]| y.iter().zip(point).map(|(y, x)| (y - x) * (y - x)).sum::<f32>();
                let mut all: Vec<(f32, i64)> = ys.chunks(3).map(squares).zip(0..).collect();
                all.sort_by(|a, b| a.partial_cmp(b).unwrap());
                places.extend(all.iter().take(4).map(|(_, place)| *place));
                distances.extend(all.iter().take(4).map(|(distance, _)| *distance));
            }
            for pair in outputs.chunks(2) {
                assert_eq!(pair[0].to_vec::<i64>().unwrap(), places, "{n} {m}");
                assert_eq!(pair[1].to_vec::<f32>().unwrap(), distances, "{n} {m}");
            }
        }
    }

    #[test]
    fn operands_are_checked() {
        let g = Graph::new();
        let (x, y) = (g.constant([[1.0f32; 2]; 2]).unwrap(), g.constant([[1.0f32; 3]; 2]).unwrap());
        let message =
            |result: crate::Result<_>| -> String { result.map(|_: [_; 2]| ()).unwrap_err().to_string() };
        assert!(message(x.nearest_neighbors(y, 1)).contains("2 and 3"));
        assert!(message(x.nearest_neighbors(x, -1)).contains("must not be negative, got -1"));
        let one = g.constant([1.0f32]).unwrap();
        assert!(message(one.nearest_neighbors(x, 1)).contains("points must have rank 2, got rank 1"));
        let doubles = x.cast(DType::F64).unwrap();
        assert!(message(x.nearest_neighbors(doubles, 1)).contains("centers must be f32, got f64"));
    }
}

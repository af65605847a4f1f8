//! Finds clusters of points. A bound run repeats one step in fixed memory and feeds the centers back.

use shapeflow::{DType, Error, Graph, Result, Tensor, TensorView, shape};

const CLUSTERS: usize = 3;

/// Returns points near three centers.
fn points(count: usize) -> Vec<f32> {
    let centers = [[0.0f32, 0.0], [10.0, 0.0], [0.0, 10.0]];
    let noise = |i: usize| (i * 7919 % 1000) as f32 / 500.0 - 1.0;
    (0..count)
        .flat_map(|i| [centers[i % 3][0] + noise(2 * i), centers[i % 3][1] + noise(2 * i + 1)])
        .collect()
}

pub(crate) fn main() -> Result<()> {
    let g = Graph::new();
    let points_in = g.input("points", DType::F32, shape!["points", 2])?;
    let centers = g.input("centers", DType::F32, shape![CLUSTERS, 2])?;
    let distances = (points_in.expand_dims(1)? - centers).square()?.reduce_sum(2)?;
    let nearest = distances.argmin(1)?;
    // Row c of `member` says which points are nearest to center c.
    let member = nearest.one_hot(CLUSTERS, 1.0f32, 0.0f32, 0)?;
    let counts = member.reduce_sum(1)?.expand_dims(1)?;
    let means = member.matmul(points_in)? / counts;
    // A center without points keeps its position.
    let next = counts.greater(0.0)?.select(means, centers)?;
    let loss = distances.reduce_min(1)?.reduce_mean(0)?;
    let exe = g.compile([("next", next), ("nearest", nearest), ("loss", loss)])?;

    let data = points(999);
    let first = [data[0], data[1], data[2], data[3], data[6], data[7]];
    let mut bound =
        exe.bind(&[TensorView::new(&[999, 2], &data)?, TensorView::new(&[CLUSTERS, 2], &first)?])?;
    assert!(bound.is_fixed(), "no repetition allocates");
    let mut losses = Vec::new();
    for _ in 0..20 {
        bound.run()?;
        losses.push(bound.output("loss")?.item::<f32>()?);
        bound.feed_back("next", "centers")?;
    }
    let centers = bound.output("next")?.to_tensor()?;
    println!("centers: {centers}\nlosses: {losses:?}");
    assert!(losses.is_sorted_by(|before, after| before >= after), "{losses:?}");

    // Each center is the mean of its points.
    let nearest = bound.output("nearest")?.to_vec::<i64>()?;
    let mut means = [[0.0f64; 2]; CLUSTERS];
    for (cluster, mean) in means.iter_mut().enumerate() {
        let own = || (0..999).filter(|&i| nearest[i] == cluster as i64);
        *mean = [0, 1]
            .map(|axis| own().map(|i| f64::from(data[2 * i + axis])).sum::<f64>() / own().count() as f64);
    }
    let means = Tensor::from(means.map(|mean| mean.map(|number| number as f32)));
    centers.allclose(&means, 1e-4, 1e-4).map_err(Error::msg)
}

//! Compares ops on sparse tensors with plain loops over dense matrices.

use shapeflow::{
    Backend, CompileOptions, DType, Dim, Graph, Result, Tensor, TensorShape, Value, sparse_concat,
};

use crate::rng::Rng;

/// A sparse matrix of ascending indices.
struct Sparse {
    sizes: [i64; 2],
    /// For each element: its row and column, and its value.
    elements: Vec<([i64; 2], i64)>,
}

impl Sparse {
    fn draw(rng: &mut Rng, sizes: [i64; 2]) -> Sparse {
        let cells = (0..sizes[0]).flat_map(|row| (0..sizes[1]).map(move |column| [row, column]));
        let cells: Vec<[i64; 2]> = cells.filter(|_| rng.chance(2, 5)).collect();
        Sparse { sizes, elements: cells.into_iter().map(|cell| (cell, rng.range_inclusive(-9, 9))).collect() }
    }

    fn dense(&self) -> Vec<Vec<i64>> {
        let mut dense = vec![vec![0; self.sizes[1] as usize]; self.sizes[0] as usize];
        for ([row, column], value) in &self.elements {
            dense[*row as usize][*column as usize] = *value;
        }
        dense
    }

    /// Returns the indices, values and sizes.
    fn tensors(&self) -> [Tensor; 3] {
        let indices: Vec<i64> = self.elements.iter().flat_map(|(cell, _)| *cell).collect();
        let values: Vec<i64> = self.elements.iter().map(|(_, value)| *value).collect();
        let count = values.len();
        [
            Tensor::from_vec(&[count, 2], indices).unwrap(),
            Tensor::from_vec(&[count], values).unwrap(),
            Tensor::from_slice(&[2], &self.sizes).unwrap(),
        ]
    }
}

/// Runs the graph that `build` makes from fed sparse tensors: with machine code and with the interpreter, and with
/// known and unknown ranks.
fn run(
    given: &[&Sparse],
    build: impl for<'g> Fn(&[[Value<'g>; 3]]) -> Result<Vec<Value<'g>>>,
) -> Vec<Tensor> {
    let feeds: Vec<Tensor> = given.iter().flat_map(|sparse| sparse.tensors()).collect();
    let mut results: Vec<Vec<Tensor>> = Vec::new();
    for (has_rank, backend) in [(false, Backend::Jit), (true, Backend::Jit), (true, Backend::Interpreter)] {
        let g = Graph::new();
        let input = |(number, tensor): (usize, &Tensor)| {
            let shape = match has_rank {
                true => TensorShape::new(
                    (0..tensor.sizes().len()).map(|axis| Dim::symbol(&format!("d{number}_{axis}"))),
                ),
                false => TensorShape::unranked(),
            };
            g.input(&format!("x{number}"), tensor.dtype(), shape).unwrap()
        };
        let values: Vec<Value<'_>> = feeds.iter().enumerate().map(input).collect();
        let (operands, _) = values.as_chunks::<3>();
        let outputs = build(operands).unwrap();
        let exe = g.compile_with(&CompileOptions::new().backend(backend), &outputs[..]).unwrap();
        let views: Vec<_> = feeds.iter().map(Tensor::view).collect();
        results.push(exe.run_all(&views).unwrap());
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
    results.swap_remove(0)
}

/// Returns the matrix of a sparse result, whose indices must ascend.
fn matrix(parts: &[Tensor]) -> Vec<Vec<i64>> {
    let (indices, values) = (parts[0].to_vec::<i64>().unwrap(), parts[1].to_vec::<i64>().unwrap());
    let (cells, sizes) = (indices.as_chunks::<2>().0, parts[2].to_vec::<i64>().unwrap());
    assert!(cells.is_sorted_by(|a, b| a < b), "{cells:?}");
    let elements = cells.iter().copied().zip(values).collect();
    Sparse { sizes: [sizes[0], sizes[1]], elements }.dense()
}

const SIZES: [[i64; 2]; 5] = [[4, 3], [1, 5], [0, 3], [3, 0], [1, 1]];

#[test]
fn a_slice_is_the_box_of_the_dense_matrix() {
    let mut rng = Rng::new(23);
    for sizes in SIZES {
        let sparse = Sparse::draw(&mut rng, sizes);
        for (start, size) in [([0i64, 0], [9i64, 9]), ([1, 1], [2, 1]), ([0, 2], [1, 9]), ([9, 0], [1, 1])] {
            let sliced = run(&[&sparse], |x| {
                let g = x[0][0].graph();
                let [indices, values, shape] = x[0];
                Ok(indices.sparse_slice(values, shape, g.constant(start)?, g.constant(size)?)?.to_vec())
            });
            let cut = |all: usize, axis: usize| {
                let first = (start[axis] as usize).min(all);
                first..(first + size[axis] as usize).min(all)
            };
            let dense = sparse.dense();
            let rows = dense[cut(dense.len(), 0)].iter();
            let expected: Vec<Vec<i64>> = rows.map(|row| row[cut(row.len(), 1)].to_vec()).collect();
            assert_eq!(matrix(&sliced), expected);
        }
    }
}

#[test]
fn joined_parts_are_the_whole() {
    let mut rng = Rng::new(29);
    for sizes in SIZES {
        let (a, b) = (Sparse::draw(&mut rng, sizes), Sparse::draw(&mut rng, sizes));
        let rows = run(&[&a, &b], |x| Ok(sparse_concat(x, 0)?.to_vec()));
        assert_eq!(matrix(&rows), [a.dense(), b.dense()].concat());
        let columns = run(&[&a, &b], |x| Ok(sparse_concat(x, -1)?.to_vec()));
        let expected: Vec<Vec<i64>> =
            a.dense().iter().zip(b.dense()).map(|(a, b)| [a.clone(), b].concat()).collect();
        assert_eq!(matrix(&columns), expected);
        let parts = run(&[&a], |x| {
            let [indices, values, shape] = x[0];
            let g = indices.graph();
            let part = |start: i64| {
                let (start, size) =
                    (g.constant([start, 0])?, g.constant([if start == 0 { 2i64 } else { 9 }, 9])?);
                indices.sparse_slice(values, shape, start, size)
            };
            Ok(sparse_concat(&[part(0)?, part(2)?], 0)?.to_vec())
        });
        assert_eq!(parts, a.tensors());
    }
}

#[test]
fn reductions_agree_with_loops_over_the_dense_matrix() {
    let mut rng = Rng::new(31);
    for sizes in SIZES {
        let sparse = Sparse::draw(&mut rng, sizes);
        let dense = sparse.dense();
        let all = run(&[&sparse], |x| {
            let [indices, values, shape] = x[0];
            let fed = indices.graph().constant([1i64])?;
            Ok(vec![
                indices.sparse_reduce_sum(values, shape, [1], false)?,
                indices.sparse_reduce_sum(values, shape, fed, true)?,
                indices.sparse_reduce_sum(values, shape, [0, 1], false)?,
                indices.sparse_reduce_max(values, shape, [-1], false)?,
            ])
        });
        let sums: Vec<i64> = dense.iter().map(|row| row.iter().sum()).collect();
        assert_eq!(
            (all[0].to_vec::<i64>().unwrap(), all[1].to_vec::<i64>().unwrap()),
            (sums.clone(), sums.clone())
        );
        assert_eq!(
            (all[1].sizes(), all[2].item::<i64>().unwrap()),
            (&[dense.len(), 1][..], sums.iter().sum())
        );
        let greatest = |row: i64| {
            let values = sparse.elements.iter().filter(|(cell, _)| cell[0] == row).map(|(_, value)| *value);
            values.max().unwrap_or(0)
        };
        assert_eq!(all[3].to_vec::<i64>().unwrap(), (0..sizes[0]).map(greatest).collect::<Vec<_>>());
        let kept = run(&[&sparse], |x| {
            let [indices, values, shape] = x[0];
            Ok([
                indices.sparse_reduce_sum_sparse(values, shape, [1], true)?,
                indices.sparse_reduce_max_sparse(values, shape, [1], true)?,
            ]
            .concat())
        });
        let rows: Vec<i64> =
            (0..sizes[0]).filter(|row| sparse.elements.iter().any(|(cell, _)| cell[0] == *row)).collect();
        for parts in [&kept[..3], &kept[3..]] {
            let indices = parts[0].to_vec::<i64>().unwrap();
            assert_eq!(indices, rows.iter().flat_map(|row| [*row, 0]).collect::<Vec<_>>());
            assert_eq!(parts[2].to_vec::<i64>().unwrap(), [sizes[0], 1]);
        }
        assert_eq!(
            kept[1].to_vec::<i64>().unwrap(),
            rows.iter().map(|row| sums[*row as usize]).collect::<Vec<_>>()
        );
        assert_eq!(
            kept[4].to_vec::<i64>().unwrap(),
            rows.iter().map(|row| greatest(*row)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn sums_and_extrema_of_two_matrices_agree_with_loops() {
    let mut rng = Rng::new(37);
    for sizes in SIZES {
        let (a, b) = (Sparse::draw(&mut rng, sizes), Sparse::draw(&mut rng, sizes));
        let results = run(&[&a, &b], |x| {
            let [indices, values, shape] = x[0];
            let all = indices.sparse_add(values, shape, x[1], indices.graph().constant(0i64)?)?.to_vec();
            let greater = indices.sparse_maximum(values, shape, x[1])?;
            let smaller = indices.sparse_minimum(values, shape, x[1])?;
            Ok([all, greater.to_vec(), smaller.to_vec()].concat())
        });
        let of = |f: fn(i64, i64) -> i64| -> Vec<Vec<i64>> {
            let rows = a.dense().into_iter().zip(b.dense());
            rows.map(|(a, b)| a.into_iter().zip(b).map(|(a, b)| f(a, b)).collect()).collect()
        };
        let [indices, values, shape, greater, greater_values, smaller, smaller_values] = &results[..] else {
            panic!("{results:?}")
        };
        let with_shape = |indices: &Tensor, values: &Tensor| [indices.clone(), values.clone(), shape.clone()];
        assert_eq!(matrix(&with_shape(indices, values)), of(|a, b| a + b));
        assert_eq!(matrix(&with_shape(greater, greater_values)), of(i64::max));
        assert_eq!(matrix(&with_shape(smaller, smaller_values)), of(i64::min));
    }
}

#[test]
fn values_of_every_dtype_move() {
    let sparse = Sparse { sizes: [2, 2], elements: vec![([0, 1], 3), ([1, 0], 4)] };
    let [indices, values, shape] = sparse.tensors();
    for dtype in DType::all().filter(|dtype| !matches!(dtype, DType::Variant)) {
        let g = Graph::new();
        let (indices, shape) = (g.constant(&indices).unwrap(), g.constant(&shape).unwrap());
        let cast = |g: &Graph| {
            let sizes = g.compile(g.constant(&values).unwrap().cast(dtype)?)?;
            sizes.run(&[]).map(|[tensor]: [Tensor; 1]| tensor)
        };
        let typed = match dtype {
            DType::String => Tensor::from_strings(&[2], &["a", "b"]).unwrap(),
            _ => match cast(&Graph::new()) {
                Ok(tensor) => tensor,
                Err(_) => continue,
            },
        };
        let x = g.constant(&typed).unwrap();
        let joined = sparse_concat(&[[indices, x, shape], [indices, x, shape]], 0).unwrap();
        let (start, size) = (g.constant([2i64, 0]).unwrap(), g.constant([2i64, 2]).unwrap());
        let [_, second, _] = joined[0].sparse_slice(joined[1], joined[2], start, size).unwrap();
        let [second] = g.compile(second).unwrap().run(&[]).unwrap();
        assert_eq!(second, typed, "{dtype}");
    }
}

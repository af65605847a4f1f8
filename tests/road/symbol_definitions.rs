//! Sizes known only at run time: fed slice bounds and shapes, sums of many unknown sizes, and symbols that a later
//! equality replaced. Compares both backends with naive loops.

use shapeflow::{
    Backend, CompileOptions, DType, Dim, ErrorKind, Executable, Graph, Registry, Result, SliceItem,
    SliceMasks, Tensor, TensorView, Value, concat, shape, stack,
};

/// The same outputs, compiled for machine code and for the interpreter.
struct BothBackends([Executable; 2]);

impl BothBackends {
    fn compile<'g>(graph: &'g Graph, outputs: &[Value<'g>]) -> Result<BothBackends> {
        let interpreter = CompileOptions::new().backend(Backend::Interpreter);
        Ok(BothBackends([graph.compile(outputs)?, graph.compile_with(&interpreter, outputs)?]))
    }

    /// Runs both backends, and compares their first outputs with the expected sizes and elements; `None` expects an
    /// error.
    #[track_caller]
    fn check(&self, feeds: &[Tensor], expected: Option<(Vec<usize>, Vec<f32>)>) {
        let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
        for exe in &self.0 {
            match (exe.run_all(&views), &expected) {
                (Ok(results), Some((sizes, elements))) => {
                    assert_eq!(results[0].sizes(), &sizes[..], "{feeds:?}");
                    assert_eq!(results[0].as_slice::<f32>().unwrap(), &elements[..], "{feeds:?}");
                }
                (Err(error), Some(_)) => panic!("{feeds:?}: {error}"),
                (Ok(results), None) => panic!("{feeds:?}: {:?} must be refused", results[0]),
                (Err(_), None) => {}
            }
        }
    }
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|number| number as f32).collect()
}

#[test]
fn concat_joins_more_unknown_sizes_than_a_dimension_may_have_terms() -> Result<()> {
    for count in [64, 65, 66, 70, 200] {
        let g = Graph::new();
        let parts: Vec<Value<'_>> = (0..count)
            .map(|index| g.input(&format!("x{index}"), DType::F32, shape![?]))
            .collect::<Result<_>>()?;
        let joined = concat(&parts, 0)?;
        // Outputs: elementwise, reshaped, and concatenated with the joined value.
        let incremented = (joined + 1.0).ok()?;
        let both = BothBackends::compile(
            &g,
            &[incremented, incremented.reshape([-1, 1])?, concat(&[incremented, joined], 0)?],
        )?;
        for max_size in [0, 1, 3] {
            let all = numbers(count + max_size);
            let feeds: Vec<Tensor> = (0..count)
                .map(|index| {
                    let size = if max_size == 0 { 0 } else { index % max_size + 1 };
                    Tensor::from_vec(&[size], all[index..index + size].to_vec())
                })
                .collect::<Result<_>>()?;
            let mut expected: Vec<f32> = Vec::new();
            for feed in &feeds {
                expected.extend(feed.as_slice::<f32>()?.iter().map(|x| x + 1.0));
            }
            both.check(&feeds, Some((vec![expected.len()], expected)));
        }
    }
    Ok(())
}

#[test]
fn operands_whose_sizes_are_too_complex_broadcast() -> Result<()> {
    let g = Graph::new();
    let inputs = ["a", "b", "c"];
    let [mut x, mut y, end] = inputs.map(|name| g.input(name, DType::F32, shape![?]).unwrap());
    let mut sums = Vec::new();
    for _ in 0..18 {
        // Every second element of the joined values: the sizes nest one level deeper.
        let every_second = SliceItem::from(..).step(2);
        [x, y] = [x, y].map(|value| {
            concat(&[value, end], 0).unwrap().slice_with(std::slice::from_ref(&every_second)).unwrap()
        });
        sums.push(x.add(y)?);
    }
    let exe = g.compile(&sums)?;
    for [count, more] in [[8, 3], [1, 1], [30, 2]] {
        let mut expected = numbers(count);
        let end = numbers(more);
        let first = TensorView::new(&[count], &expected)?;
        let results = exe.run_all(&[first.clone(), first, TensorView::new(&[more], &end)?])?;
        for result in results {
            expected = expected.iter().chain(&end).step_by(2).copied().collect();
            let doubled: Vec<f32> = expected.iter().map(|x| x + x).collect();
            assert_eq!(result.to_vec::<f32>()?, doubled);
        }
    }
    Ok(())
}

#[test]
fn sizes_made_of_comparisons_are_determined() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let is_long = x.size_tensor()?.greater(3)?.cast(DType::I32)?;
    let sizes = is_long.mul(2)?.add(1)?.reshape([1])?;
    let y = g.fill(sizes, 1.0f32)?.add(1.0)?;
    let exe = g.compile([y, y.mul(2.0)?])?;
    for (count, expected) in [(2, 1), (5, 3)] {
        let data = numbers(count);
        let [y, twice] = exe.run_all(&[TensorView::new(&[count], &data)?])?.try_into().unwrap();
        assert_eq!(y.to_vec::<f32>()?, vec![2.0; expected]);
        assert_eq!(twice.to_vec::<f32>()?, vec![4.0; expected]);
    }
    Ok(())
}

#[test]
fn select_determines_the_unknown_sizes_of_its_operands() -> Result<()> {
    let registry = Registry::builtin();
    for op in ["select", "select_v1"] {
        let g = Graph::new();
        let (a, d) = (g.input("a", DType::F32, shape![?, ?])?, g.input("d", DType::F32, shape![?, ?])?);
        let s = g.input("s", DType::I32, shape![?])?;
        let three = g.constant(&Tensor::from_vec(&[3], vec![10.0f32, 20.0, 30.0])?)?;
        let condition_elements: Vec<bool> = (0..15).map(|index| index % 2 == 0).collect();
        let otherwise_elements = numbers(15);
        let condition = g.constant(&Tensor::from_vec(&[3, 5], condition_elements.clone())?)?;
        let joined = concat(&[(a + three.reshape(s)?).ok()?, d], 1)?;
        let otherwise = g.constant(&Tensor::from_vec(&[3, 5], otherwise_elements.clone())?)?;
        let call = g.op(registry.get(op).unwrap());
        let both = BothBackends::compile(&g, &[call.data(condition).data(joined).data(otherwise).finish()?])?;
        // The sizes of a, the elements of s, and the sizes of d. In each case, they fit each other.
        for (a, s, d) in [
            ([3, 2], [3i32, 1], [3, 3]),
            ([1, 2], [3, 1], [3, 3]),
            ([3, 1], [1, 3], [3, 2]),
            ([3, 3], [1, 3], [3, 2]),
            ([3, 5], [-1, 1], [3, 0]),
        ] {
            let (a_data, d_data) = (numbers(a[0] * a[1]), vec![-1.0f32; d[0] * d[1]]);
            let s_sizes: [usize; 2] = s.map(|size| if size == -1 { 3 } else { size as usize });
            let width = a[1].max(s_sizes[1]);
            let mut expected = Vec::new();
            for row in 0..3 {
                for column in 0..5 {
                    // The offset of the element in a matrix of these sizes, which broadcasts.
                    let offset_in = |sizes: [usize; 2]| {
                        (row % sizes[0]) * sizes[1] + (if sizes[1] == 1 { 0 } else { column })
                    };
                    expected.push(match condition_elements[row * 5 + column] {
                        false => otherwise_elements[row * 5 + column],
                        true if column < width => {
                            a_data[offset_in(a)] + [10.0, 20.0, 30.0][offset_in(s_sizes)]
                        }
                        true => -1.0,
                    });
                }
            }
            let feeds = [
                Tensor::from_vec(&a, a_data.clone())?,
                Tensor::from_vec(&d, d_data.clone())?,
                Tensor::from_vec(&[2], s.to_vec())?,
            ];
            both.check(&feeds, Some((vec![3, 5], expected)));
        }
        for (a, s, d) in [([3, 2], [3, 1], [3, 2]), ([2, 2], [3, 1], [3, 3]), ([3, 2], [3, 2], [3, 3])] {
            let (a_data, d_data) = (numbers(a[0] * a[1]), numbers(d[0] * d[1]));
            let feeds = [
                Tensor::from_vec(&a, a_data.clone())?,
                Tensor::from_vec(&d, d_data.clone())?,
                Tensor::from_vec(&[2], s.to_vec())?,
            ];
            both.check(&feeds, None);
        }
    }
    Ok(())
}

#[test]
fn fed_slices_match_a_naive_loop() -> Result<()> {
    for declared in [shape![?], shape![7]] {
        let g = Graph::new();
        let x = g.input("x", DType::F32, declared)?;
        let (begin, size) = (g.input("b", DType::I64, [1])?, g.input("s", DType::I64, [1])?);
        let slice = x.slice(begin, size)?;
        let both = BothBackends::compile(&g, &[(slice * 2.0).ok()?, slice.reshape([1, -1])?, slice])?;
        let data = numbers(7);
        for begin in [i64::MIN, -2, -1, 0, 1, 3, 6, 7, 8, i64::MAX] {
            for size in [i64::MIN, -2, -1, 0, 1, 4, 7, 8, i64::MAX] {
                let end = if size == -1 { 7 } else { begin.saturating_add(size) };
                let fits = (0..=7).contains(&begin) && end <= 7 && size >= -1;
                let expected: Option<Vec<f32>> =
                    fits.then(|| data[begin as usize..end as usize].iter().map(|x| x * 2.0).collect());
                let feeds = [
                    Tensor::from_vec(&[7], data.clone())?,
                    Tensor::from_vec(&[1], vec![begin])?,
                    Tensor::from_vec(&[1], vec![size])?,
                ];
                both.check(&feeds, expected.map(|elements| (vec![elements.len()], elements)));
            }
        }
    }
    Ok(())
}

/// Returns `data[begin:end:stride]` as in Python.
fn python_slice(data: &[f32], begin: i64, end: i64, stride: i64) -> Vec<f32> {
    let size = data.len() as i64;
    let (low, high) = if stride > 0 { (0, size) } else { (-1, size - 1) };
    let clamp =
        |index: i64| (if index < 0 { index.saturating_add(size) } else { index }).clamp(low, high.max(low));
    let (mut index, end) = (clamp(begin), clamp(end));
    let mut taken = Vec::new();
    while (stride > 0 && index < end) || (stride < 0 && index > end) {
        taken.push(data[index as usize]);
        let Some(next) = index.checked_add(stride) else { break };
        index = next;
    }
    taken
}

#[test]
fn fed_strided_slices_match_a_naive_loop() -> Result<()> {
    let ends = [i64::MIN, -20, -7, -1, 0, 3, 6, 7, 8, i64::MAX];
    let strides = [1, 2, -1, -3, i64::MAX, i64::MIN];
    for (declared, size) in [(shape![?], 7), (shape![7], 7), (shape![?], 0), (shape![?], 1)] {
        for fed in [false, true] {
            for stride in strides {
                let g = Graph::new();
                let x = g.input("x", DType::F32, declared.clone())?;
                let (begin, end) = (g.input("b", DType::I64, [1])?, g.input("e", DType::I64, [1])?);
                let step = g.input("s", DType::I64, [1])?;
                let masks = SliceMasks::default();
                let taken = match fed {
                    true => x.strided_slice(begin, end, step, masks)?,
                    false => x.strided_slice(begin, end, [stride], masks)?,
                };
                let both = BothBackends::compile(&g, &[(taken + 0.0).ok()?, taken])?;
                let data = numbers(size);
                for begin in ends {
                    for end in ends {
                        let expected = python_slice(&data, begin, end, stride);
                        let feeds = [
                            Tensor::from_vec(&[size], data.clone())?,
                            Tensor::from_vec(&[1], vec![begin])?,
                            Tensor::from_vec(&[1], vec![end])?,
                            Tensor::from_vec(&[1], vec![stride])?,
                        ];
                        both.check(&feeds, Some((vec![expected.len()], expected)));
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn fed_reshapes_match_a_naive_check() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let s = g.input("s", DType::I32, [3])?;
    let shaped = x.reshape(s)?;
    let both = BothBackends::compile(&g, &[(shaped * 1.0).ok()?, shaped, shaped.transpose([2, 1, 0])?])?;
    for rows in [0usize, 1, 3] {
        let data = numbers(rows * 4);
        let count = data.len() as i32;
        for sizes in
            [[1, 2, -1], [-1, 2, 2], [2, 2, 3], [12, 1, 1], [1, -1, 1], [0, 5, 1], [-1, -1, 1], [-2, 2, 1]]
        {
            let known: i32 = sizes.iter().filter(|size| **size != -1).product();
            let inferred = sizes.contains(&-1);
            let fits = match inferred {
                true => {
                    known > 0 && count % known == 0 && sizes.iter().filter(|size| **size == -1).count() == 1
                }
                false => known == count && sizes.iter().all(|size| *size >= 0),
            };
            let full: Vec<usize> = sizes
                .iter()
                .map(|size| if *size == -1 { count / known.max(1) } else { *size } as usize)
                .collect();
            let feeds =
                [Tensor::from_vec(&[rows, 4], data.clone())?, Tensor::from_vec(&[3], sizes.to_vec())?];
            both.check(&feeds, fits.then_some((full, data.clone())));
        }
    }
    Ok(())
}

#[test]
fn a_size_that_nothing_determines_is_refused_when_compiled() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let filled = g.fill(shape!["nowhere", 2], 1.0f32)?;
    let error = g.compile([x, filled]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compile);
    let message =
        "fill(f32[], dims=[nowhere, 2]): dims must be known when the op runs, but nothing determines nowhere";
    assert_eq!(error.message(), format!("{message}; try n"));
    Ok(())
}

#[test]
fn a_misspelled_size_is_refused_with_the_near_name() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["row", "column"])?;
    let refused = |value: Value<'_>| g.compile([x, value]).map(drop).unwrap_err().message().to_string();
    let filled = g.fill(shape!["rows", 2], 1.0f32)?;
    let problem = "must be known when the op runs, but nothing determines";
    assert_eq!(refused(filled), format!("fill(f32[], dims=[rows, 2]): dims {problem} rows; is it row?"));
    let column = g.constant([1.0f32])?.broadcast_to(shape!["colum", 1])?;
    assert!(refused(column).ends_with(&format!("{problem} colum; is it column?")), "{}", refused(column));
    let other = g.fill(shape!["depth"], 1.0f32)?;
    assert!(refused(other).ends_with(&format!("{problem} depth; try column, row")), "{}", refused(other));
    // The names of the graph of a branch.
    let chosen = g.cond(x.reduce_sum([0, 1])?.greater(0.0)?, || g.fill(shape!["rows"], 1.0f32), || Ok(x))?;
    assert!(refused(chosen[0]).ends_with(&format!("{problem} rows; is it row?")), "{}", refused(chosen[0]));
    Ok(())
}

#[test]
fn beside_unknown_ranks_a_size_is_refused_if_no_shape_could_determine_it() -> Result<()> {
    let message = "fill(f32[], dims=[nowhere, 2]): dims must be known when the op runs, but nothing determines \
                   nowhere";
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![..])?;
    let axis = g.input("axis", DType::I32, shape![])?;
    let filled = g.fill(shape!["nowhere", 2], 1.0f32)?;
    let ones = g.input("ones", DType::F32, shape![2, 2])?;
    for other in [x.relu()?, ones.reduce_sum(axis)?] {
        let error = g.compile([other, (filled + 1.0).ok()?]).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Compile, message));
    }
    // `stack` makes the sizes of its operands equal. So the sizes of `x` determine `nowhere`, and then also `rows`,
    // which equals `nowhere`.
    let view = Tensor::from_vec(&[4, 2], numbers(8))?;
    let both = BothBackends::compile(&g, &[stack(&[filled, x], 0)?])?;
    let expected = [vec![1.0; 8], numbers(8)].concat();
    both.check(std::slice::from_ref(&view), Some((vec![2, 4, 2], expected)));
    let rows = g.fill(shape!["rows"], 1.0f32)?;
    let sums = g.fill(shape!["nowhere"], 2.0f32)?;
    let both = BothBackends::compile(&g, &[stack(&[rows, sums], 0)?, stack(&[filled, x], 0)?])?;
    both.check(std::slice::from_ref(&view), Some((vec![2, 4], [vec![1.0; 4], vec![2.0; 4]].concat())));
    let both = BothBackends::compile(&g, &[x.reshape(shape!["count", 2])?])?;
    both.check(&[view], Some((vec![4, 2], numbers(8))));
    Ok(())
}

#[test]
fn products_of_sums_of_sizes_may_have_more_terms_than_a_dimension() -> Result<()> {
    let g = Graph::new();
    // Every axis is a sum of unknown sizes, so that the number of elements is a sum of many products.
    let parts: Vec<Value<'_>> = (0..3)
        .map(|index| g.input(&format!("x{index}"), DType::F32, shape![?, ?, ?, ?, ?]))
        .collect::<Result<_>>()?;
    let sizes = g.input("sizes", DType::I64, [5])?;
    let mut whole = parts[0].broadcast_to(sizes)?;
    for axis in 0..5 {
        let others: Vec<Value<'_>> = (0..3)
            .map(|index| {
                let name = format!("y{axis}_{index}");
                let part_sizes = g.input(&name, DType::I64, [5])?;
                g.fill(part_sizes, 1.0f32)
            })
            .collect::<Result<_>>()?;
        whole = concat(&[whole, others[0], others[1], others[2]], axis)?;
    }
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|axis| whole.dim(axis));
    let flat = whole.reshape([-1])?;
    let reversed = whole.reshape([e?, d?, c?, b?, a?])?;
    let count = whole.size_tensor()?.cast(DType::F32)?;
    let outputs = [(reversed + 0.0).ok()?, flat, count, whole.reduce_mean([0, 1, 2, 3, 4])?];
    let both = BothBackends::compile(&g, &outputs)?;
    let mut feeds: Vec<Tensor> = Vec::new();
    for _ in 0..3 {
        feeds.push(Tensor::from_vec(&[1, 1, 1, 1, 1], vec![1.0f32])?);
    }
    feeds.push(Tensor::from_vec(&[5], vec![1i64; 5])?);
    let mut all = [1i64; 5];
    for axis in 0..5 {
        for size in [1, 0, 1] {
            let mut part = all;
            part[axis] = size;
            feeds.push(Tensor::from_vec(&[5], part.to_vec())?);
        }
        all[axis] += 2;
    }
    both.check(&feeds, Some((vec![3; 5], vec![1.0; 243])));
    Ok(())
}

#[test]
fn a_data_dependent_dimension_in_an_attribute_is_known() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape![?])?;
    let axis = g.input("axis", DType::I32, shape![])?;
    // Both outputs use the size of `distinct`, but no output reads its elements. The second output uses the size also
    // after an `expand_dims` whose axis the run computes.
    let [distinct, _] = x.unique()?;
    let count = distinct.dim(0)?;
    let ones = g.fill([count.clone()], 1.0f32)?;
    let later =
        g.fill([count.clone()], 2.0f32)?.expand_dims((axis + 0).ok()?)?.reshape([count, Dim::known(1)])?;
    let both = BothBackends::compile(&g, &[ones, later])?;
    for (data, distinct) in [(vec![3i32, 3, 3], 1), (vec![1, 2, 1, 4], 3), (vec![], 0)] {
        for axis in [0i32, 1] {
            let feeds = [Tensor::from_vec(&[data.len()], data.clone())?, Tensor::from_vec(&[], vec![axis])?];
            both.check(&feeds, Some((vec![distinct], vec![1.0; distinct])));
        }
    }
    Ok(())
}

#[test]
fn a_size_from_a_computed_position_is_known_without_the_value_that_has_it() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let k = g.input("k", DType::I64, shape![])?;
    let (next, is_odd) = ((k + 1i64).ok()?, k.floormod(2i64)?);
    // Each value, with its size for `n` elements and position `k`.
    type Sized<'g> = (Value<'g>, fn(i64, i64) -> i64);
    let opaque = k.cast(DType::F64)?.cast(DType::I64)?.add(k.mul(0i64)?)?;
    let sized: [Sized<'_>; 5] = [
        (x.slice_with(&[SliceItem::from(..opaque)])?, |n, k| n.min(k)),
        (x.slice_with(&[SliceItem::from(next..)])?, |n, k| (n - k - 1).max(0)),
        (x.slice_with(&[SliceItem::from(is_odd..)])?, |n, k| (n - k % 2).max(0)),
        (x.tile(next.expand_dims(0)?)?, |n, k| n * (k + 1)),
        (x.pad(stack(&[k, next], 0)?.expand_dims(0)?)?, |n, k| n + k + k + 1),
    ];
    for (value, size) in sized {
        let dim = value.dim(0)?;
        let range = g.range(0i64, &dim, 1i64)?.cast(DType::F32)?;
        let ones = g.fill([&dim], 1.0f32)?;
        let is_even = is_odd.equal(0i64)?;
        let branches =
            g.cond(is_even, || g.map(&[range], |x| (x[0] * 2.0).ok())?[0].add(range), || range.mul(3.0f32))?;
        let zeros = (value * 0.0f32).ok()?;
        let with_value =
            g.cond(is_even, || g.map(&[zeros], |x| (x[0] * 2.0).ok())?[0].add(zeros), || Ok(zeros))?;
        let triple = |size: i64| numbers(size as usize).iter().map(|x| 3.0 * x).collect::<Vec<f32>>();
        type Expected<'a> = &'a dyn Fn(i64) -> Vec<f32>;
        let outputs: [(Value<'_>, Expected<'_>); 5] = [
            (with_value[0], &|size| vec![0.0; size as usize]),
            (range, &|size| numbers(size as usize)),
            (range.sort(0, true)?, &|size| numbers(size as usize).into_iter().rev().collect()),
            (ones.cumsum(0)?, &|size| (1..=size).map(|number| number as f32).collect()),
            (branches[0], &triple),
        ];
        for (output, expected) in outputs {
            let both = BothBackends::compile(&g, &[output])?;
            for (n, k) in [(0, 0), (3, 0), (3, 1), (3, 2), (5, 3)] {
                let size = size(n, k);
                let feeds = [Tensor::from_slice(&[n as usize], &numbers(n as usize))?, Tensor::scalar(k)];
                both.check(&feeds, Some((vec![size as usize], expected(size))));
            }
        }
    }
    Ok(())
}

/// A start that has no expression, because the expression is too long, may be -1: the last axis of an empty range with
/// a negative stride starts there.
#[test]
fn the_start_of_a_slice_without_an_expression_may_be_negative() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![1])?;
    let bound = |name: &str, rank: usize| g.input(name, DType::I32, shape![rank]);
    let bounds =
        [bound("a", 1)?, bound("b", 1)?, bound("c", 1)?, bound("d", 1)?, bound("e", 2)?, bound("f", 2)?];
    let [a, b, c, d, e, f] = bounds;
    let masks = SliceMasks::default();
    let y = x.strided_slice(a, b, [3], masks)?.strided_slice(c, d, [-2], masks)?;
    let pairs = (y - y.expand_dims(1)?).ok()?;
    let both = BothBackends::compile(&g, &[pairs.strided_slice(e, f, [-1, 2], masks)?])?;
    let feeds = |bounds: [&[i32]; 6]| -> Vec<Tensor> {
        let bounds = bounds.iter().map(|bound| Tensor::from_slice(&[bound.len()], bound).unwrap());
        std::iter::once(Tensor::from([7.0f32])).chain(bounds).collect()
    };
    both.check(&feeds([&[0], &[-13], &[-830139329], &[0], &[0, -4], &[-1, -7]]), Some((vec![0, 0], vec![])));
    both.check(&feeds([&[0], &[1], &[0], &[-2], &[0, 0], &[-2, 1]]), Some((vec![1, 1], vec![0.0])));
    both.check(&feeds([&[0], &[1], &[0], &[-2], &[-1, 0], &[-5, 1]]), Some((vec![1, 1], vec![0.0])));
    Ok(())
}

//! Runs with strided and unaligned inputs, several threads, data-dependent ranks, packed constants and memory limits.

use std::sync::Arc;

use shapeflow::{
    Backend, CompileOptions, DType, Dim, Error, ErrorKind, Executable, Graph, HostCx, OpDef, Operand, Phase,
    Result, TensorView, concat, shape,
};

#[test]
fn unaligned_and_strided_inputs_give_the_same_results() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let exe = g.compile([(x * 2.0).ok()?, x.reduce_sum([1])?, x])?;
    let data: Vec<f32> = (0..300).map(|k| k as f32).collect();
    for (n, m) in [(1usize, 1usize), (3, 4), (7, 9), (2, 64), (16, 16)] {
        let sizes = [n, m];
        let plain: Vec<f32> = (0..n * m).map(|k| data[k + 1]).collect();
        let expected = exe.run_all(&[TensorView::new(&sizes, &plain)?])?;
        // A view that starts one element after the start of an allocation.
        let unaligned = exe.run_all(&[TensorView::new(&sizes, &data[1..1 + n * m])?])?;
        assert_eq!(expected, unaligned);
        let column_major: Vec<f32> = (0..n * m).map(|k| plain[k % n * m + k / n]).collect();
        let strides = [1isize, n as isize];
        let strided = exe.run_all(&[TensorView::with_strides(&sizes, &strides, &column_major, 0)?])?;
        assert_eq!(expected, strided);
        let reversed: Vec<f32> = plain.iter().rev().copied().collect();
        let strides = [-(m as isize), -1];
        let strided = exe.run_all(&[TensorView::with_strides(&sizes, &strides, &reversed, n * m - 1)?])?;
        assert_eq!(expected, strided);
        let strides = [0isize, 1];
        let repeated: Vec<f32> = (0..n).flat_map(|_| plain[..m].to_vec()).collect();
        let strided = exe.run_all(&[TensorView::with_strides(&sizes, &strides, &plain, 0)?])?;
        assert_eq!(strided, exe.run_all(&[TensorView::new(&sizes, &repeated)?])?);
    }
    Ok(())
}

#[test]
fn threads_do_not_change_the_bits_of_a_matmul() -> Result<()> {
    let g = Graph::new();
    let a = g.input("a", DType::F32, shape!["b", "m", "k"])?;
    let b = g.input("b", DType::F32, shape!["b", "k", "n"])?;
    let matmul = a.matmul(b)?;
    let one = g.compile([matmul])?;
    let three = g.compile_with(&CompileOptions::new().threads(3), [matmul])?;
    let sizes =
        [(1, 1024, 40, 130), (1, 65, 900, 1100), (1, 64, 80, 2000), (7, 130, 70, 140), (1, 600, 30, 300)];
    for [batch, m, k, n] in sizes.map(|(batch, m, k, n)| [batch, m, k, n]) {
        let data: Vec<f32> =
            (0..batch * k * m.max(n)).map(|i| (i as f32 * 0.618_034).fract() - 0.5).collect();
        let (left, right) = ([batch, m, k], [batch, k, n]);
        let feeds = [
            TensorView::new(&left, &data[..batch * m * k])?,
            TensorView::new(&right, &data[..batch * k * n])?,
        ];
        assert_eq!(one.run_all(&feeds)?, three.run_all(&feeds)?, "{batch} of {m} x {k} x {n}");
    }
    Ok(())
}

#[test]
fn a_constant_matmul_operand_is_repacked_for_the_sizes_of_each_run() -> Result<()> {
    let numbers: Vec<f32> = (0..240).map(|i| (i * 7 % 31) as f32 - 15.0).collect();
    let right = TensorView::new(&[240], &numbers)?;
    let compile = |constant: bool| -> Result<Executable> {
        let g = Graph::new();
        let a = g.input("a", DType::F32, shape!["m", "k"])?;
        let b = match constant {
            true => g.constant(&right.to_tensor()?)?,
            false => g.input("b", DType::F32, shape![240])?,
        };
        g.compile([a.matmul(b.reshape([a.dim(1)?, Dim::from(-1)])?)?])
    };
    let (fed, packed) = (compile(false)?, compile(true)?);
    for k in [12, 20, 3, 80, 12] {
        let sizes = [8, k];
        let left: Vec<f32> = (0..8 * k).map(|i| (i % 5) as f32).collect();
        let left = TensorView::new(&sizes, &left)?;
        assert_eq!(fed.run_all(&[left.clone(), right.clone()])?, packed.run_all(&[left])?, "k = {k}");
    }
    assert!(packed.stats().packed_bytes > 0);
    Ok(())
}

#[test]
fn a_constant_matmul_operand_gives_the_same_bits_as_an_input() -> Result<()> {
    // `threads` share the columns. The row counts below go from a vector to more rows than one packed tile.
    for (k, n, threads) in [(1, 2, 1), (40, 10, 1), (700, 70, 1), (80, 2000, 3)] {
        let numbers: Vec<f32> =
            (0..2 * k * n.max(600)).map(|i| (i as f32 * 0.618_034).fract() - 0.5).collect();
        for (sizes, transposed) in [([1, k, n], false), ([2, k, n], false), ([2, n, k], true)] {
            let right = TensorView::new(&sizes, &numbers[..sizes.iter().product()])?;
            let compile = |constant: bool| -> Result<Executable> {
                let g = Graph::new();
                let a = g.input("a", DType::F32, shape![2, "m", k as i64])?;
                let shape = shape![sizes[0] as i64, sizes[1] as i64, sizes[2] as i64];
                let b = match constant {
                    true => g.constant(&right.to_tensor()?)?,
                    false => g.input("b", DType::F32, shape)?,
                };
                let options = CompileOptions::new().threads(threads);
                g.compile_with(&options, [a.matmul_transposed(b, false, transposed)?])
            };
            let (fed, packed) = (compile(false)?, compile(true)?);
            for m in [1, 2, 3, 8, 64, 600] {
                let sizes = [2, m, k];
                let left = TensorView::new(&sizes, &numbers[..2 * m * k])?;
                assert_eq!(
                    fed.run_all(&[left.clone(), right.clone()])?,
                    packed.run_all(&[left])?,
                    "{m} x {k} x {n}, {sizes:?}"
                );
            }
            assert!(fed.stats().packed_bytes == 0 && packed.stats().packed_bytes > 0);
        }
    }
    Ok(())
}

#[test]
fn a_constant_reshaped_by_fed_sizes_takes_the_sizes_of_each_run() -> Result<()> {
    let numbers: Vec<f32> = (0..24).map(|i| i as f32 - 11.5).collect();
    let g = Graph::new();
    let a = g.input("a", DType::F32, shape![5, ?])?;
    let sizes = g.input("sizes", DType::I32, [2])?;
    let exe = g.compile(a.matmul(g.constant(numbers.clone())?.reshape(sizes)?)?)?;
    for [k, n] in [[4usize, 6], [6, 4], [4, 6], [3, 8], [12, 2], [8, 3], [6, 4]] {
        let left: Vec<f32> = (0..5 * k).map(|i| (i % 7) as f32 - 3.0).collect();
        let (left_sizes, right_sizes) = ([5, k], [k as i32, n as i32]);
        let [got] = exe.run(&[TensorView::new(&left_sizes, &left)?, TensorView::new(&[2], &right_sizes)?])?;
        let element =
            |index: usize| (0..k).map(|i| left[index / n * k + i] * numbers[i * n + index % n]).sum();
        let expected: Vec<f32> = (0..5 * n).map(element).collect();
        assert_eq!((got.sizes(), got.to_vec::<f32>()?), (&[5, n][..], expected));
    }
    Ok(())
}

#[test]
fn a_result_reuses_the_memory_of_a_dead_operand() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["m", 3])?;
    let (w, v) = (g.input("w", DType::F32, shape![3, "n"])?, g.input("v", DType::F32, shape!["n", 2])?);
    let scores = x.matmul(w)?;
    let weights = (scores * 0.5).softmax(-1)?;
    let exe = g.compile([weights.matmul(v)?])?;
    // A second output reads `scores` later, so `scores` must not be overwritten.
    let kept = g.compile([weights.matmul(v)?, (scores.matmul(v)? + 1.0).ok()?])?;
    let data: Vec<f32> = (0..300).map(|k| (k as f32 * 0.618_034).fract() - 0.5).collect();
    for (m, n) in [(1usize, 1usize), (16, 64), (7, 37)] {
        let (x, w, v) = ([m, 3], [3, n], [n, 2]);
        let feeds = [(&x, 3 * m), (&w, 3 * n), (&v, 2 * n)];
        let feeds = feeds.map(|(sizes, len)| TensorView::new(sizes, &data[..len]));
        let feeds = feeds.into_iter().collect::<Result<Vec<_>>>()?;
        assert_eq!(exe.run_all(&feeds)?[0], kept.run_all(&feeds)?[0], "{m} x {n}");
    }
    assert_eq!(exe.stats().arena_bytes, 16 * 64 * 4);
    assert!(kept.stats().arena_bytes >= 2 * 16 * 64 * 4);
    Ok(())
}

#[test]
fn threads_do_not_change_the_bits_of_a_result() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let y = x.softmax(-1)?;
    let outputs = [
        (x * 1.7 + 0.3).tanh()?,
        y,
        x.reduce_sum([0])?,
        x.reduce_sum([1])?,
        x.reduce_mean(..)?,
        x.transpose([1, 0])?.sigmoid()?,
        concat(&[x, y * x], 1)?,
        x.argmax(1)?,
        (x - x.reduce_mean(shapeflow::Axes::of([1]).keep_dims())?).square()?.reduce_sum([1])?,
    ];
    let one = g.compile(outputs)?;
    let two = g.compile_with(&CompileOptions::new().threads(2), outputs)?;
    let four = g.compile_with(&CompileOptions::new().threads(4), outputs)?;
    for (n, m) in
        [(1usize, 1usize), (3, 200_000), (200_000, 3), (700, 700), (1, 500_000), (500_000, 1), (0, 5)]
    {
        let mut state = 1u32;
        let data: Vec<f32> = (0..n * m)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 22) as f32 - 2.0
            })
            .collect();
        let sizes = [n, m];
        if m == 0 || n == 0 {
            continue;
        }
        let view = TensorView::new(&sizes, &data)?;
        let expected = one.run_all(std::slice::from_ref(&view))?;
        for exe in [&two, &four] {
            for (number, (got, expected)) in
                exe.run_all(std::slice::from_ref(&view))?.iter().zip(&expected).enumerate()
            {
                assert_eq!(got, expected, "output {number} at {sizes:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn data_movement_split_over_threads_matches_naive_loops() -> Result<()> {
    const SIZES: [usize; 4] = [5, 200, 180, 5];
    let [n, h, w, c] = SIZES;
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape!["n", "h", "w", "c"])?;
    let padded = x.pad([0, 0, 1, 2, 3, 1, 0, 0])?;
    let left = padded.slice([0, 1, 0, 0], [-1, h as i64, w as i64, -1])?;
    let below = padded.slice([0, 2, 3, 0], [-1, h as i64, w as i64, -1])?;
    let outputs = [
        padded,
        concat(&[left, x, below], 3)?,
        x.reverse([2])?,
        x.transpose([0, 3, 1, 2])?,
        x.tile([1, 2, 1, 3])?,
    ];
    let data: Vec<i32> = (0..SIZES.iter().product::<usize>() as i32).collect();
    // The element at an index, or 0 if the index is out of range of the two middle axes.
    let element = |i: usize, j: isize, k: isize, l: usize| -> i32 {
        let inside = (0..h as isize).contains(&j) && (0..w as isize).contains(&k);
        if inside { data[((i * h + j as usize) * w + k as usize) * c + l] } else { 0 }
    };
    // The elements of a tensor of these sizes, in row-major order, by a function of the index.
    let tensor_of =
        |[a, b, c, d]: [usize; 4], at_index: &dyn Fn(usize, isize, isize, usize) -> i32| -> Vec<i32> {
            let index = |flat: usize| {
                (flat / d / c / b % a, (flat / d / c % b) as isize, (flat / d % c) as isize, flat % d)
            };
            (0..a * b * c * d).map(index).map(|(i, j, k, l)| at_index(i, j, k, l)).collect()
        };
    let expected = [
        tensor_of([n, h + 3, w + 4, c], &|i, j, k, l| element(i, j - 1, k - 3, l)),
        tensor_of([n, h, w, 3 * c], &|i, j, k, l| match l / c {
            0 => element(i, j, k - 3, l),
            1 => element(i, j, k, l % c),
            _ => element(i, j + 1, k, l % c),
        }),
        tensor_of(SIZES, &|i, j, k, l| element(i, j, w as isize - 1 - k, l)),
        tensor_of([n, c, h, w], &|i, j, k, l| element(i, k, l as isize, j as usize)),
        tensor_of([n, 2 * h, w, 3 * c], &|i, j, k, l| element(i, j % h as isize, k, l % c)),
    ];
    for threads in [1, 3] {
        let exe = g.compile_with(&CompileOptions::new().threads(threads), outputs)?;
        let got = exe.run_all(&[TensorView::new(&SIZES, &data)?])?;
        for (number, (got, expected)) in got.iter().zip(&expected).enumerate() {
            assert!(got.as_slice::<i32>()? == expected, "output {number} by {threads} threads");
        }
    }
    Ok(())
}

#[test]
fn ranks_may_depend_on_data() -> Result<()> {
    let pack = Arc::new(
        OpDef::host_with("as_rank", |cx: &mut HostCx<'_>| {
            let rank = cx.input(0)?.to_vec::<i64>()?[0] as usize;
            cx.output(0, &vec![2; rank])?.as_mut_slice::<f32>()?.fill(1.5);
            Ok(())
        })
        .operands(&[Operand::Data("x")])
        .shape_fn(|cx| {
            cx.set_output(0, shapeflow::TensorShape::unranked());
            Ok(())
        })
        .dtype_rule(|_, _| Ok(vec![DType::F32])),
    );
    let g = Graph::new();
    let x = g.input("x", DType::I64, [1])?;
    let y = g.op(&pack).data(x).finish()?;
    let exe = g.compile([y, (y * 2.0).ok()?, y.reduce_sum(..)?])?;
    for rank in [0usize, 1, 3, 1] {
        let [y, twice, sum] = exe.run(&[TensorView::new(&[1], &[rank as i64])?])?;
        assert_eq!((y.sizes(), twice.sizes()), (&vec![2; rank][..], &vec![2; rank][..]));
        assert_eq!(sum.item::<f32>()?, 1.5 * (1 << rank) as f32);
    }
    Ok(())
}

#[test]
fn unavailable_memory_is_an_error() -> Result<()> {
    let g = Graph::new();
    let n = g.input("count", DType::I64, shape![1])?;
    let exe = g.compile(g.fill(n, 1.5f32)?.named("filled"))?;
    for count in [1i64 << 46, 1 << 60, 1 << 61, 1 << 62, i64::MAX] {
        let error = exe.run_all(&[TensorView::new(&[1], &[count])?]).expect_err("must be refused");
        assert_eq!((error.kind(), error.phase()), (ErrorKind::Memory, Phase::Run), "{error}");
        assert!(error.to_string().contains("filled"), "{error}");
    }
    Ok(())
}

/// A view of stride 0 stands for more elements than fit into memory.
#[test]
fn a_strided_view_is_copied_only_if_its_elements_are_read() -> Result<()> {
    let sizes = [1usize << 31, 1 << 29];
    let element = [7u8];
    let huge = TensorView::with_strides(&sizes, &[0, 0], &element, 0)?;
    let offsets = [1i64, 5, 2];
    let reversed = TensorView::with_strides(&[2], &[-1], &offsets, 2)?;
    for declared in [shape!["n", "m"], shape![?, ?], shapeflow::TensorShape::unranked()] {
        let g = Graph::new();
        let offset = g.input("offset", DType::I64, shape![2])?;
        let x = g.input("x", DType::U8, declared)?;
        let exe = g.compile((x.shape_tensor_as(DType::I64)? + offset).ok()?)?;
        let [y] = exe.run(&[reversed.clone(), huge.clone()])?;
        assert_eq!(y.to_vec::<i64>()?, [(1 << 31) + 2, (1 << 29) + 5]);
        // Only the last input is needed.
        let exe = g.compile(x.bitwise_not()?.named("inverted"))?;
        let feeds = std::slice::from_ref(&huge);
        for error in [exe.run::<1>(feeds).unwrap_err(), exe.bind(feeds).err().unwrap()] {
            assert_eq!((error.kind(), error.phase()), (ErrorKind::Memory, Phase::Run), "{error}");
            let expected = "the copy of input \"x\" with sizes [2147483648, 536870912]: out of memory";
            assert!(error.message().starts_with(expected), "{error}");
        }
    }
    Ok(())
}

#[test]
fn a_memory_limit_counts_results() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile_with(&CompileOptions::new().memory_limit(4096), (x * 2.0).named("doubled"))?;
    assert!(exe.run_all(&[TensorView::new(&[1000], &[0.0f32; 1000])?]).is_ok());
    let error = exe.run_all(&[TensorView::new(&[2000], &[0.0f32; 2000])?]).expect_err("must be refused");
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.to_string().contains("doubled"), "{error}");
    Ok(())
}

#[test]
fn symbols_that_no_input_axis_has_are_solved_from_reshapes() -> Result<()> {
    let g = Graph::new();
    let (a, b, c) = (Dim::symbol("a"), Dim::symbol("b"), Dim::symbol("c"));
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = g.input("y", DType::F32, shape![a.clone(), 2])?;
    // The element counts of the reshapes determine b and c.
    let rows = x.reshape([a.clone(), b])?;
    let flat = y.reshape([a * c])?;
    let exe = g.compile([rows, flat])?;
    let numbers = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let run = |x: usize, y: [usize; 2]| {
        exe.run_all(&[TensorView::new(&[x], &numbers[..x])?, TensorView::new(&y, &numbers[..y[0] * y[1]])?])
    };
    let sizes = |x, y| Ok::<_, Error>(run(x, y)?.iter().map(|y| y.sizes().to_vec()).collect::<Vec<_>>());
    assert_eq!(sizes(6, [3, 2])?, [vec![3, 2], vec![6]]);
    assert_eq!(sizes(6, [2, 2])?, [vec![2, 3], vec![4]]);
    assert_eq!(sizes(0, [3, 2])?, [vec![3, 0], vec![6]]);
    let error = run(5, [2, 2]).unwrap_err();
    assert_eq!(
        error.message(),
        "reshape(f32[n], shape=[a, b]): shape must keep the number of elements, got 5 in [5] and 2*b in [2, b]"
    );
    Ok(())
}

/// The elements of `x * constant` wrap when the graph runs. Inference tracks the elements as dims, which do not wrap.
/// The run succeeds because no size depends on these dims.
#[test]
fn integer_elements_that_wrap_are_data_on_both_backends() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I64, shape![3])?;
    let y = (x * g.constant([i64::MAX - 1])?).ok()?;
    for backend in [Backend::Jit, Backend::Interpreter] {
        let exe = g.compile_with(&CompileOptions::new().backend(backend), y)?;
        let [result] = exe.run(&[TensorView::new(&[3], &[-19i64, 19, -10])?])?;
        assert_eq!(result.to_vec::<i64>()?, [-19i64, 19, -10].map(|n| n.wrapping_mul(i64::MAX - 1)));
    }
    Ok(())
}

//! Operands of ragged values: dense operands, ragged operands with fewer partitions, complex rows, and values whose
//! number only a run knows.

use serde_json::Value as Json;
use shapeflow::{
    AnyValue, DType, Graph, IntoParam, RaggedTensor, RaggedValue, Result, Tensor, Unchecked, Value, ragged,
    shape,
};

use super::recorded::indices;

/// Applies a recorded op; `None` for an op of another file.
pub fn in_graph<'g>(op: &str, arguments: &[Json], x: RaggedValue<'g>) -> Option<Result<AnyValue<'g>>> {
    Some(match op {
        "beside_dense" | "after_dense" => beside_dense(op, arguments, x),
        "beside_shallow" | "after_shallow" => beside_shallow(op, x),
        "complex_sum" | "complex_prod" | "complex_mean" => complex_rows(op, arguments, x),
        _ => return None,
    })
}

fn beside_dense<'g>(op: &str, sizes: &[Json], x: RaggedValue<'g>) -> Result<AnyValue<'g>> {
    let sizes = indices(sizes).to_vec::<i64>()?;
    let numbers = (0..sizes.iter().product()).map(|number| number as f64).collect();
    let sizes: Vec<usize> = sizes.into_iter().map(|size| size as usize).collect();
    let numbers = x.graph().constant(Tensor::from_vec(&sizes, numbers)?)?;
    let pairs = RaggedValue::from_uniform_row_length(x, 2, None)?;
    Ok(if op == "beside_dense" { pairs + numbers } else { numbers - pairs }.ok()?.into())
}

fn beside_shallow<'g>(op: &str, x: RaggedValue<'g>) -> Result<AnyValue<'g>> {
    let count = x.values().ragged()?.partition().nrows();
    let numbers = x.graph().range(0i64, count, 1i64)?.cast(DType::F64)?;
    let mut shallow = RaggedValue::from_row_splits(numbers, x.row_splits())?;
    for _ in 2..x.rank()? {
        shallow = shallow.expand_dims(-1)?;
    }
    Ok(if op == "beside_shallow" { x + shallow } else { shallow - x }.ok()?.into())
}

fn complex_rows<'g>(op: &str, arguments: &[Json], x: RaggedValue<'g>) -> Result<AnyValue<'g>> {
    let half = if arguments[0] == "complex64" { DType::F32 } else { DType::F64 };
    let real = x.cast(half)?;
    let complex = real.complex((real * -2.0).ok()?)?;
    let axis = arguments[2].as_i64().unwrap();
    let reduced = match op {
        "complex_sum" => complex.reduce_sum(axis),
        "complex_prod" => complex.reduce_prod(axis),
        _ => complex.reduce_mean(axis),
    }?;
    let part =
        |flat: Value<'g>| if arguments[1] == "real" { flat.real() } else { flat.imag() }?.cast(DType::F64);
    Ok(match reduced {
        AnyValue::Dense(value) => part(value)?.into(),
        AnyValue::Ragged(value) => value.map_flat_values(part)?.into(),
    })
}

/// Runs a graph of one ragged result without inputs.
fn text(rt: RaggedValue<'_>) -> Result<String> {
    Ok(rt.graph().compile([("y", rt)])?.run_named(&[])?.ragged("y")?.to_string())
}

fn message<T>(result: Result<T>) -> String {
    result.err().expect("the call is refused").message().to_string()
}

#[test]
fn dense_operands_broadcast_along_uniform_axes() -> Result<()> {
    let g = Graph::new();
    let row = RaggedValue::from_tensor(g.constant([[1, 2, 3]])?, 1)?;
    assert_eq!(text((row + g.constant([1, 2, 3])?).ok()?)?, "[[2, 4, 6]]");
    let square = RaggedValue::from_tensor(g.constant([[1, 2], [3, 4]])?, 1)?;
    assert_eq!(text((g.constant([1, 2])? + square).ok()?)?, "[[2, 4], [4, 6]]");
    assert_eq!(text((square + g.constant([[1, 2], [5, 6]])?).ok()?)?, "[[2, 4], [8, 10]]");
    let refused = message((square + g.constant([1, 2, 3])?).ok());
    assert_eq!(
        refused,
        "add(i32[2, 2]): a dense operand must have size 1 or the ragged operand's size along each outer axis, got [3] with [2, 2]"
    );
    Ok(())
}

#[test]
fn the_run_compares_rows_with_a_dense_operand() -> Result<()> {
    let g = Graph::new();
    let rt = g.ragged_input("rt", DType::I64, 1, shape![])?;
    let dense = g.input("dense", DType::I64, shape![?, ?])?;
    let exe = g.compile([("y", (rt * dense).ok()?)])?;
    let run = |rt: &RaggedTensor, dense: Tensor| -> Result<String> {
        Ok(exe.feed("rt", rt).feed("dense", &dense).run()?.ragged("y")?.to_string())
    };
    let even = ragged![[1i64, 2], [3, 4]];
    assert_eq!(run(&even, Tensor::from([[1i64, 10], [100, 1000]]))?, "[[1, 20], [300, 4000]]");
    assert_eq!(run(&even, Tensor::from([[1i64, 10]]))?, "[[1, 20], [3, 40]]");
    assert_eq!(run(&even, Tensor::from([[1i64], [10]]))?, "[[1, 2], [30, 40]]");
    let uneven = ragged![[1i64, 2, 3], [], [4]];
    assert_eq!(run(&uneven, Tensor::from([[1i64], [10], [100]]))?, "[[1, 2, 3], [], [400]]");
    assert_eq!(run(&uneven, Tensor::from([[2i64]]))?, "[[2, 4, 6], [], [8]]");
    let lengths = message(run(&uneven, Tensor::from([[1i64, 2, 3]])));
    assert!(
        lengths.contains("a dense operand must have size 1 or the length of every row along axis 1"),
        "{lengths}"
    );
    let rows = message(run(&even, Tensor::from([[1i64], [2], [3]])));
    assert!(rows.contains("a dense operand must have size 1 or the number of rows along axis 0"), "{rows}");
    Ok(())
}

#[test]
fn a_ragged_operand_with_fewer_partitions_is_repeated() -> Result<()> {
    let g = Graph::new();
    let deep = g.ragged_constant(&ragged![[[1, 2], [3]], [[4]]])?;
    let shallow = g.ragged_constant(&ragged![[10, 20], [30]])?;
    let column = shallow.expand_dims(-1)?;
    assert_eq!(text((deep + column).ok()?)?, "[[[11, 12], [23]], [[34]]]");
    assert_eq!(text((column - deep).ok()?)?, "[[[9, 8], [17]], [[26]]]");
    assert_eq!(text(column.greater(deep)?)?, "[[[true, true], [true]], [[true]]]");
    assert!(message((deep + shallow).ok()).contains(": ragged operands must have the same partitions"));
    let other = g.ragged_constant(&ragged![[10], [20, 30]])?.expand_dims(-1)?;
    let refused = message(text((deep + other).ok()?));
    assert!(refused.contains("the rows of ragged operands must have equal lengths"), "{refused}");
    Ok(())
}

#[test]
fn operands_are_repeated_for_the_rows_of_a_value() -> Result<()> {
    let g = Graph::new();
    let rt = g.ragged_constant(&ragged![[1, 2], [], [3]])?;
    assert_eq!(text(rt.broadcast_to_rows(7)?)?, "[[7, 7], [], [7]]");
    assert_eq!(text(rt.broadcast_to_rows(g.constant([[0.5], [1.5], [2.5]])?)?)?, "[[0.5, 0.5], [], [2.5]]");
    let uniform = RaggedValue::from_uniform_row_length(g.constant([7, 8, 9])?, 1, None)?;
    assert_eq!(text(rt.broadcast_to_rows(uniform)?)?, "[[7, 7], [], [9]]");
    let deep = g.ragged_constant(&ragged![[[1, 2], [3]], [[4]]])?;
    let shallow = g.ragged_constant(&ragged![[10, 20], [30]])?.expand_dims(-1)?;
    assert_eq!(text(deep.broadcast_to_rows(shallow)?)?, "[[[10, 10], [20]], [[30]]]");
    assert!(
        shallow.broadcast_to_rows(deep).is_err() && rt.broadcast_to_rows(g.constant([[1], [2]])?).is_err()
    );
    let other = g.ragged_constant(&ragged![[1], [2], [3]])?;
    let refused = message(text(rt.broadcast_to_rows(other)?));
    assert!(refused.contains("the rows of ragged operands must have equal lengths"), "{refused}");
    Ok(())
}

#[test]
fn the_run_compares_numbers_of_values_that_are_not_known() -> Result<()> {
    let rows = ragged![[1i64, 2], [], [3]];
    for name in ["with_flat_values", "with_values", "map_flat_values", "sum"] {
        let g = Graph::new();
        let rt = g.ragged_input("rt", DType::I64, 1, shape![])?;
        let flat = g.input("flat", DType::I64, shape![?])?;
        let made = match name {
            "with_flat_values" => rt.with_flat_values(flat)?,
            "with_values" => rt.with_values(flat)?,
            "map_flat_values" => rt.map_flat_values(|_| Ok(flat))?,
            _ => (rt + rt.with_values(flat)?).ok()?,
        };
        let exe = g.compile([("y", made)])?;
        let run = |flat: Tensor| exe.feed("rt", &rows).feed("flat", &flat).run()?.ragged("y");
        let expected = if name == "sum" { "[[11, 22], [], [33]]" } else { "[[10, 20], [], [30]]" };
        assert_eq!(run(Tensor::from([10i64, 20, 30]))?.to_string(), expected, "{name}");
        for wrong in [vec![], vec![1i64], vec![1i64, 2, 3, 4]] {
            let count = wrong.len();
            let refused = message(run(Tensor::from(wrong)));
            // Some check names both numbers: of the feed, of the splits, or of the sum.
            let names = |number: usize| {
                refused.split(|c: char| !c.is_ascii_digit()).any(|word| word == number.to_string())
            };
            assert!(names(3) && names(count), "{name}: {refused}");
        }
    }
    let g = Graph::new();
    let known = g.ragged_constant(&rows)?;
    let two = g.constant([1i64, 2])?;
    assert_eq!(
        message(known.with_values(two)),
        "with_values(i64[3, (r0)]): the number of values must be 3, got 2"
    );
    assert_eq!(
        message(known.with_flat_values(two)),
        "with_flat_values(i64[3, (r0)]): the number of flat values must be 3, got 2"
    );
    assert!(known.with_values(known).is_ok() && known.with_values(g.constant([[1], [2], [3]])?).is_ok());
    Ok(())
}

#[test]
fn infinite_complex_elements_stay_in_products() -> Result<()> {
    let g = Graph::new();
    let real = g.ragged_constant(&ragged![[f64::INFINITY], [], [2.0, 3.0]])?;
    let product = real.complex(real.zeros_like()?)?.reduce_prod(1)?.dense()?;
    let [real, imaginary] = g.compile([product.real()?, product.imag()?])?.run(&[])?;
    assert_eq!(real, Tensor::from([f64::INFINITY, 1.0, 6.0]));
    assert_eq!(imaginary, Tensor::from([0.0, 0.0, 0.0]));
    Ok(())
}

type Constructor = for<'g> fn(Value<'g>, Value<'g>) -> Result<RaggedValue<'g>>;

#[test]
fn errors_of_a_run_name_the_encoding() -> Result<()> {
    let splits: Constructor = |x, e| RaggedValue::from_row_splits(x, e);
    let lengths: Constructor = |x, e| RaggedValue::from_row_lengths(x, e);
    let starts: Constructor = |x, e| RaggedValue::from_row_starts(x, e);
    let limits: Constructor = |x, e| RaggedValue::from_row_limits(x, e);
    let rowids: Constructor = |x, e| RaggedValue::from_value_rowids(x, e, None);
    let two_rows: Constructor = |x, e| RaggedValue::from_value_rowids(x, e, Some(2.into_param()));
    let many = i64::MAX;
    let cases: &[(Constructor, &[i64], &str)] = &[
        (splits, &[], "row_splits must have at least one element, got none"),
        (
            splits,
            &[0, many],
            "row_splits must end at the number of values, 3, got 9223372036854775807 at position 1",
        ),
        (
            splits,
            &[0, many, -2, 3],
            "row_splits must not decrease, got -2 after 9223372036854775807 at position 2",
        ),
        (lengths, &[1, -1, 3], "row_lengths must not be negative, got -1 at position 1"),
        (lengths, &[1, 1], "the sum of row_lengths must be the number of values, 3, got 2"),
        (lengths, &[], "the sum of row_lengths must be the number of values, 3, got 0"),
        (
            lengths,
            &[1, many, many, 5],
            "the sum of row_lengths must be the number of values, 3, got 18446744073709551620",
        ),
        (starts, &[1, 2], "row_starts must start at 0, got 1"),
        (starts, &[0, 2, 1], "row_starts must not decrease, got 1 after 2 at position 2"),
        (starts, &[0, 4], "row_starts must not exceed the number of values, 3, got 4 at position 1"),
        (starts, &[], "row_starts must have at least one element for 3 values, got none"),
        (limits, &[-1, 3], "row_limits must not be negative, got -1 at position 0"),
        (limits, &[2, 1, 3], "row_limits must not decrease, got 1 after 2 at position 1"),
        (limits, &[1, 2], "row_limits must end at the number of values, 3, got 2 at position 1"),
        (limits, &[], "row_limits must have at least one element for 3 values, got none"),
        (rowids, &[0, 0], "value_rowids must have one id of a row for each of 3 values, got 2"),
        (two_rows, &[0, 1, 2], "value_rowids must be less than nrows, 2, got 2 at position 2"),
        (
            two_rows,
            &[0, 1, -1],
            "value_rowids must be ascending and not negative, got -1 after 1 at position 2",
        ),
    ];
    for (constructor, ints, expected) in cases {
        let g = Graph::new();
        let (x, encoding) = (g.input("x", DType::F32, shape![?])?, g.input("e", DType::I64, shape![?])?);
        let exe = g.compile([("y", constructor(x, encoding)?)])?;
        let (x, encoding) = (Tensor::from([1.0f32, 2.0, 3.0]), Tensor::from(ints.to_vec()));
        let got = message(exe.feed("x", &x).feed("e", &encoding).run());
        assert!(got.ends_with(expected), "{ints:?}: {got}");
    }
    Ok(())
}

#[test]
fn numbers_of_rows_must_fit_row_ids() -> Result<()> {
    let g = Graph::new();
    let (x, rowids) = (g.input("x", DType::F32, shape![?])?, g.input("rowids", DType::I32, shape![?])?);
    let nrows = g.input("nrows", DType::I64, shape![])?;
    let exe = g.compile([("y", RaggedValue::from_value_rowids(x, rowids, Some(nrows.into_param()))?)])?;
    let run = |nrows: i64| {
        let (x, rowids) = (Tensor::from([1.0f32, 2.0]), Tensor::from([0, 2]));
        exe.feed("x", &x).feed("rowids", &rowids).feed("nrows", &Tensor::scalar(nrows)).run()?.ragged("y")
    };
    assert_eq!(run(4)?.to_string(), "[[1.0], [], [2.0], []]");
    for wrong in [2, 0, -1, i64::MIN, i64::MAX] {
        assert!(run(wrong).is_err(), "{wrong}");
    }
    Ok(())
}

/// The splits of the rows that one great id asks for would need gigabytes.
#[test]
fn a_large_row_id_needs_an_explicit_number_of_rows() -> Result<()> {
    let expected = "without nrows, each of 2 value_rowids must be less than 16777216, got 2147483647";
    let ids = Tensor::from([0, i32::MAX]);
    assert_eq!(message(RaggedTensor::from_value_rowids([1, 2], &ids, None)), expected);
    assert_eq!(message(RaggedTensor::from_value_rowids([1, 2], Unchecked(&ids), None)), expected);
    let g = Graph::new();
    let (x, rowids) = (g.constant([1, 2])?, g.input("rowids", DType::I32, shape![2])?);
    for rt in [
        RaggedValue::from_value_rowids(x, rowids, None)?,
        RaggedValue::from_value_rowids(x, Unchecked(rowids), None)?,
    ] {
        let exe = g.compile([("y", rt)])?;
        let got = message(exe.feed("rowids", &ids).run());
        assert!(got.ends_with(expected), "{got}");
        assert_eq!(exe.feed("rowids", &Tensor::from([0, 99_999])).run()?.ragged("y")?.nrows(), 100_000);
    }
    Ok(())
}

/// Memory of an earlier run must not be visible in row ids that no row gives.
#[test]
fn values_outside_all_rows_have_the_row_id_0() -> Result<()> {
    let g = Graph::new();
    let (x, splits) = (g.input("x", DType::I64, shape![?])?, g.input("splits", DType::I64, shape![?])?);
    let rows = RaggedValue::from_row_splits(x, Unchecked(splits))?;
    let exe = g.compile([("ids", rows.value_rowids()?)])?;
    let run = |count: usize, splits: Vec<i64>| {
        let (x, splits) = (Tensor::zeros(DType::I64, &[count])?, Tensor::from(splits));
        exe.feed("x", &x).feed("splits", &splits).run()?.tensor("ids").cloned()
    };
    let count = 1 << 17;
    // The buffer of this result is free for the next run.
    assert_eq!(run(count, vec![0, 0, count as i64])?.to_vec::<i64>()?, vec![1; count]);
    let splits = vec![count as i64 - 1, count as i64];
    let expected =
        RaggedTensor::from_row_splits(Tensor::zeros(DType::I64, &[count])?, Unchecked(splits.clone()))?;
    assert_eq!(&run(count, splits)?, expected.value_rowids());
    assert_eq!(run(5, vec![2, 4, 5])?, Tensor::from([0i64, 0, 0, 0, 1]));
    let refused = message(run(5, vec![0, 1]));
    assert!(
        refused.ends_with("row_splits must end at the number of values, 5, got 1 at position 1"),
        "{refused}"
    );
    Ok(())
}

#[test]
fn row_starts_give_different_partitions_of_different_numbers_of_values() -> Result<()> {
    let g = Graph::new();
    let input = |name: &str, size: &str| g.input(name, DType::I64, shape![size]);
    let (x, y, z) = (input("x", "n")?, input("y", "n")?, input("z", "m")?);
    let starts = g.input("starts", DType::I64, shape![?])?;
    let [x, y, z] = [x, y, z].map(|values| RaggedValue::from_row_starts(values, starts).unwrap());
    assert!(!x.partition().is_same(z.partition()) && x.partition().is_same(x.partition()));
    let exe = g.compile([("same", (x + y).ok()?), ("other", (x + z).ok()?)])?;
    let run = |z: Tensor| {
        let (x, y) = (Tensor::from([1i64, 2, 3]), Tensor::from([10i64, 20, 30]));
        let starts = Tensor::from([0i64, 1]);
        let feeds = exe.feed("x", &x).feed("y", &y).feed("z", &z).feed("starts", &starts);
        feeds.run()?.ragged("other")
    };
    assert_eq!(run(Tensor::from([4i64, 5, 6]))?.to_string(), "[[5], [7, 9]]");
    let refused = message(run(Tensor::from([4i64, 5])));
    // The sum makes the numbers of values equal, so that the feed is refused. Either name may stand for both.
    assert!(refused.contains("must be i64[") && refused.contains("got i64[2]"), "{refused}");
    Ok(())
}

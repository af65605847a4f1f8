//! Errors name the call that the program probably meant, the input that a size comes from, and the line of the program.

use std::panic::Location;

#[cfg(feature = "safetensors")]
use shapeflow::interchange::read_safetensors_bytes;
#[cfg(feature = "npz")]
use shapeflow::interchange::{read_npy, read_npz_bytes};
use shapeflow::{DType, Dim, Error, Graph, RaggedTensor, Result, Tensor, Value, ragged, shape};

/// Returns the error, whose location must be the line of this call.
#[track_caller]
fn here<T>(result: Result<T>) -> Error {
    let line = Location::caller().line();
    let error = result.err().expect("the call is refused");
    assert_eq!(error.location().map(|at| (at.file(), at.line())), Some((file!(), line)), "{error}");
    error
}

#[test]
fn a_help_names_the_op_that_was_meant() -> Result<()> {
    let g = Graph::new();
    let [real, double] = [DType::F32, DType::F64].map(|dtype| g.input(dtype.name(), dtype, shape!["n", "n"]));
    let (real, double) = (real?, double?);
    let help = |result: Result<Value<'_>>| result.unwrap_err().help().unwrap_or("").to_string();
    assert_eq!(help(real.fft()), "use .rfft(..), or cast operand 0 with .cast(DType::C64)");
    assert_eq!(help(double.fft2()), "use .rfft2(..), or cast operand 0 with .cast(DType::C128)");
    assert_eq!(help(real.ifft()), "cast operand 0 with .cast(DType::C64)");

    let complex = real.cast(DType::C64)?;
    assert_eq!(help(complex.matmul(real)), "cast operand 1 with .cast(DType::C64)");
    assert_eq!(help(real.matmul(complex)), "cast operand 0 with .cast(DType::C64)");
    let both = "cast operand 1 with .cast(DType::F32), or operand 0 with .cast(DType::F64)";
    assert_eq!(help(real.matmul(double)), both);
    let flags = real.greater(0.0f32)?;
    assert_eq!(help(real.matmul(flags)), "cast operand 1 with .cast(DType::F32)");

    #[cfg(feature = "strings")]
    {
        let texts = g.constant(["a", "b"])?;
        assert!(help((texts + texts).ok()).starts_with("use .string_add(..), or read operand 0"));
    }
    Ok(())
}

/// Integers have the bits of quantized elements, and the advice for them runs.
#[test]
fn dequantize_of_integers_advises_a_bitcast() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I8, shape!["n"])?;
    let options = shapeflow::QuantizeOptions { mode: shapeflow::QuantizeMode::Scaled, ..Default::default() };
    let error = here(x.dequantize(-127.0f32, 127.0f32, options));
    assert_eq!(
        error.help(),
        Some("read the integers as quantized elements with .bitcast(DType::QI8)"),
        "{error}"
    );
    let y = x.bitcast(DType::QI8)?.dequantize(-127.0f32, 127.0f32, options)?;
    let [y] = g.compile(y)?.run(&[Tensor::from([3i8, -7]).view()])?;
    assert_eq!(y, Tensor::from([3.0f32, -7.0]));
    Ok(())
}

#[test]
fn map_flat_values_keeps_the_number_of_values() -> Result<()> {
    let g = Graph::new();
    let rows = g.ragged_constant(&ragged![[1, 2], [], [3]])?;
    let error = here(rows.map_flat_values(|x| x.slice([1], [-1])));
    assert_eq!(
        error.message(),
        "map_flat_values(i32[3, (r0)]): the closure of map_flat_values must keep the number of values, got i32[2] from i32[3]"
    );
    assert_eq!(error.help(), Some("to drop elements use boolean_mask"));
    let error = here(rows.map_flat_values(|x| x.reduce_sum(0)));
    assert!(error.message().ends_with("got i32[] from i32[3]"), "{error}");
    Ok(())
}

#[test]
fn errors_of_a_condition_are_in_the_scope_of_the_condition() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![4])?;
    let error = g
        .while_loop(
            &[x],
            |state| state[0].reshape([3])?.reduce_sum(0)?.less(9.0f32),
            |state| Ok([(state[0] + 1.0f32).ok()?]),
        )
        .unwrap_err();
    let scopes: Vec<&str> = error.scopes().map(|(name, _)| name).collect();
    assert_eq!(scopes, ["condition"], "{error}");
    assert!(!error.to_string().contains("body"), "{error}");
    Ok(())
}

#[test]
fn numbers_of_rows_that_differ_name_the_tensor() -> Result<()> {
    let g = Graph::new();
    let [a, b] = ["a", "b"].map(|name| g.input(name, DType::F32, shape![?]).unwrap());
    let sums = g.map(&[a, b], |x| (x[0] + x[1]).ok())?;
    let error =
        g.compile(&sums)?.run_all(&[Tensor::from([1.0f32]).view(), Tensor::from([1.0f32, 2.0]).view()]);
    let error = error.unwrap_err();
    assert!(error.to_string().contains("operand 1 comes from b at "), "{error}");
    let [a, b] =
        [2, 3].map(|rows| g.constant(Tensor::zeros(DType::F32, &[rows]).unwrap()).unwrap().named("rows"));
    let error = here(g.map(&[a, b], |x| (x[0] + x[1]).ok()));
    assert!(error.to_string().contains("x1 comes from rows at "), "{error}");
    Ok(())
}

#[test]
fn a_size_in_an_attribute_names_its_input() -> Result<()> {
    let g = Graph::new();
    let sound = g.input("sound", DType::F32, shape!["clips", "samples"])?;
    let frames = (Dim::symbol("samples") - 64).floordiv(24)? + 1;
    let y = (g.range(0, &frames, 1)?.cast(DType::F32)? + sound.reduce_sum(..)?).ok()?;
    let exe = g.compile([("y", y)])?;
    let error = exe.run_all(&[Tensor::zeros(DType::F32, &[2, 39])?.view()]).unwrap_err();
    assert!(error.message().contains("delta must point from start to limit"), "{error}");
    assert!(error.to_string().contains("samples is 39 at axis 1 of input \"sound\""), "{error}");
    Ok(())
}

#[test]
fn a_size_that_a_run_feeds_is_named() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let count = g.input("count", DType::I32, shape![])?;
    let k = count.as_dim("k")?;
    let (rows, five) = (Tensor::from([1.0f32, 2.0]), Tensor::scalar(5i32));
    let refused = |value: Value<'_>| -> Result<String> {
        let exe = g.compile([("y", value)])?;
        let error = exe.run_named(&[("x", rows.view()), ("count", five.view())]).unwrap_err();
        assert!(error.message().contains("must lie within the tensor, got 0 to "), "{error}");
        Ok(error.to_string())
    };
    for value in [x.slice(0, &k)?, x.slice(0, 2 * &k)?] {
        let text = refused(value)?;
        assert!(text.contains("k is 5, from count at "), "{text}");
    }
    let text = refused(x.slice([0], count.reshape([1])?.named("sizes"))?)?;
    assert!(text.contains("size is [5], from sizes at "), "{text}");
    Ok(())
}

#[test]
fn errors_of_control_flow_name_the_values() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let p = g.input("p", DType::Bool, shape![])?;
    fn cast(x: Value<'_>) -> Result<Value<'_>> {
        Ok(x.cast(DType::F64)?.named("wide"))
    }
    let many = x.greater(0.0)?.named("many");
    for (error, origins) in [
        (g.cond(x, || Ok(x), || Ok(x)), &["the predicate comes from x at "][..]),
        (g.cond(many, || Ok(x), || Ok(x)), &["the predicate comes from many at "]),
        (g.case(p, &[]), &["the index comes from p at "]),
        (
            g.cond(p, || Ok(x), || cast(x)),
            &["output 0 of then comes from x at ", "output 0 of else comes from else/wide at "],
        ),
        (g.while_loop(&[x], |_| Ok(many), |s| Ok(s[0])), &["the condition comes from many at "]),
        (
            g.while_loop(&[x], |_| Ok(p), |s| cast(s[0])),
            &["the initial value of state 0 is x at ", "the returned value comes from body/wide at "],
        ),
        (g.map(&[p], |x| Ok(x[0])), &["x0 comes from p at "]),
    ] {
        let text = error.unwrap_err().to_string();
        for origin in origins {
            assert!(text.contains(origin), "no {origin:?} in {text}");
        }
    }
    let other = Graph::new();
    let y = other.input("y", DType::F32, shape!["n"])?;
    let text = here(g.cond(p, || Ok(x), || Ok(y))).to_string();
    assert!(text.contains("the value of the other graph comes from y at "), "{text}");
    // A value of another graph is no operand: the numbers of the operands behind it are unknown.
    let text = here(g.while_loop(&[x, y], |_| Ok(p), |s| Ok([s[0], s[1]]))).to_string();
    assert!(!text.contains("operand 1"), "{text}");
    Ok(())
}

#[test]
fn errors_without_a_node_have_the_line_of_the_call() -> Result<()> {
    let tensor = Tensor::from([1.0f32]);
    here(tensor.as_strings());
    here(tensor.view().as_strings());
    let line = line!() + 1;
    let divided = |n: Dim| -> Result<Dim> { Ok(n.floordiv(0)?) };
    let error = divided(Dim::symbol("n")).unwrap_err();
    assert_eq!(error.location().map(|at| (at.file(), at.line())), Some((file!(), line)), "{error}");

    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let mut leaked = None;
    let _ = g.map(&[x], |rows| {
        leaked = Some((rows[0] * 2.0f32).ok()?);
        Ok([rows[0]])
    })?;
    here(g.compile(leaked.expect("the closure has run")));
    Ok(())
}

#[test]
fn mistakes_with_ragged_values_are_explained() -> Result<()> {
    let g = Graph::new();
    let r = g.ragged_input("r", DType::F32, "users", shape![])?;
    let w = g.input("w", DType::F32, shape!["users"])?;
    for error in [here(r.reduce_sum(2)), here(r.softmax(2))] {
        assert!(error.message().contains("(f32[users, (r0)]): an axis must be in [-2, 2), got 2"), "{error}");
        assert_eq!(error.help(), Some("axes count from 0: the last one is 1 or -1"));
        assert!(matches!(error.op(), Some("reduce_sum" | "softmax")), "{error}");
    }
    let error = here(r.cast(DType::I64)?.softmax(1));
    assert_eq!(error.op(), Some("softmax"), "{error}");
    assert!(error.message().ends_with("the element type must be a float, got i64"), "{error}");

    // A vector of one number for each row.
    let exe = g.compile([("scaled", r.mul(w)?)])?;
    let (rows, vector) = (ragged![[1.0f32, 2.0], [], [4.0]], Tensor::from([1.0f32, 2.0, 3.0]));
    let error = exe.feed("r", &rows).feed("w", &vector).run().unwrap_err();
    let text = error.to_string();
    let message = "a dense operand must have size 1 or the length of every row along axis 1, got 3";
    assert_eq!(text.matches(message).count(), 1, "{error}");
    assert!(error.help().unwrap_or_default().ends_with("use .expand_dims(1)"), "{error}");

    let exe = g.compile([("scaled", r.mul(w.expand_dims(1)?)?)])?;
    let feed = |rows, vector: &Tensor| exe.feed("r", rows).feed("w", vector).run();
    let results = feed(&rows, &vector)?;
    assert_eq!(results.ragged("scaled")?.to_string(), "[[1.0, 2.0], [], [12.0]]");
    let error = here(results.tensor("scaled"));
    assert_eq!(error.help(), Some("scaled is ragged: use `results.ragged(\"scaled\")`"));
    let error = feed(&rows, &Tensor::from([1.0f32, 2.0])).unwrap_err();
    let expected = "axis 0 is users, which is 3, the number of rows of ragged input \"r\"";
    assert!(error.message().ends_with(expected), "{error}");
    let error = here(exe.feed("r", &ragged![[1.0], [2.0]]).feed("w", &vector).run());
    assert_eq!(error.message(), "ragged input \"r\" must have elements of dtype f32, got f64[2, ?]");
    let error = here(exe.feed("rr", &rows).run());
    assert_eq!(error.help(), Some("is it \"r\"?"));

    let q = g.ragged_input("q", DType::F32, "users", shape![])?;
    let exe = g.compile([("q", q.mul(w.expand_dims(1)?)?), ("r", r.mul(w.expand_dims(1)?)?)])?;
    let error = here(exe.feed("r", &rows).feed("w", &vector).feed("q", &ragged![[1.0f32], [2.0]]).run());
    assert!(error.message().starts_with("ragged input \"q\" must have 3 rows, got 2"), "{error}");

    let views: Vec<Tensor> = rows.feeds("r").into_iter().map(|(_, part)| part).chain([vector]).collect();
    let exe = g.compile([("scaled", r.mul(w.expand_dims(1)?)?)])?;
    let mut bound = exe.bind(&views.iter().map(Tensor::view).collect::<Vec<_>>())?;
    let error = here(bound.input_mut("r").map(drop));
    let parts = "r is ragged: its parts are the inputs \"r/flat_values\", \"r/row_splits/0\"";
    assert_eq!(error.help(), Some(parts));

    here(RaggedTensor::from_row_lengths([1.0f32, 2.0], [1i64, 2]));
    here(RaggedTensor::from_row_splits([1.0f32, 2.0], [0i64, 3, 2]));
    here(RaggedTensor::from_uniform_row_length([1.0f32, 2.0], 3, None));
    here(RaggedTensor::from_nested_row_lengths([1.0f32, 2.0], &[[3i64]]));
    here(RaggedTensor::from_tensor(&Tensor::from([1.0f32]), 1));
    Ok(())
}

#[test]
fn a_run_names_the_dimensions_of_scalars() -> Result<()> {
    let g = Graph::new();
    let nodes = g.input("n", DType::I64, shape![])?.as_dim("nodes")?;
    let links = g.input("k", DType::I64, shape![])?.as_dim("links")?;
    let x = (g.fill(&nodes, 1.0f32)?.reduce_sum(0)? + g.fill(&links, 1.0f32)?).ok()?;
    let [best, _] = x.top_k(3)?;
    let [two, three] = [2i64, 3].map(Tensor::scalar);
    let error = g.compile(best)?.run_all(&[three.view(), two.view()]).unwrap_err();
    assert!(error.message().starts_with("top_k(f32[links], k=3)"), "{error}");
    Ok(())
}

#[cfg(all(feature = "npz", feature = "safetensors"))]
#[test]
fn a_damaged_file_is_described() -> Result<()> {
    here(read_npy(b"x"));
    here(read_npz_bytes(b"x"));
    let bytes = shapeflow::interchange::write_safetensors_bytes([("x", &Tensor::from([1.0f32, 2.0]))])?;
    let message = |bytes: &[u8]| here(read_safetensors_bytes(bytes)).message().to_string();
    assert!(message(&bytes[..5]).ends_with("the length of its header, got 5 bytes"));
    assert!(message(&bytes[..20]).contains("bytes, and 12 bytes follow"));
    assert!(message(&bytes[..bytes.len() - 2]).contains("6 bytes: the file is cut off"));
    assert!(message(b"not a file of tensors").contains("not a safetensors file"));
    assert!(message(b"PK\x03\x04 and more bytes").contains("an npz file, which read_npz reads"));
    Ok(())
}

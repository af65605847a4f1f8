//! Tables of shape-function cases as text. Every accepted case is also refined: numbers replace its symbols, the
//! inference runs again, and the results are compared.

mod random;
mod soundness;
mod templates;

use crate::dim::DimRepr;
use crate::dim::display::{Anonymous, write_dim};
use crate::{
    Attr, Attrs, DType, Dim, DimTable, Guard, InferenceContext, InferenceResult, OperandInfo,
    PartialElements, Result, ShapeFn, Symbol, SymbolKind, TensorShape,
};

/// Makes one test of a table of cases:
///
/// ```text
/// shape_table! { name: function, ["operand", …];
///     {attr: value, …} "inputs" => "outputs";
/// }
/// ```
///
/// Inputs are split by `;`. An input is a shape with an optional dtype before it and optional elements after `=`.
///
/// Outputs are split by `;` too. `d0_1` is the anonymous dimension at axis 1 of operand 0, and `v1_0` is the anonymous
/// element 0 of operand 1. Known elements follow after `=`. The guards follow after `if`, and are compared only if `if`
/// is present. `error …` expects a refusal whose message contains the text; `error(2 outputs) …` also says that the op
/// has 2 outputs.
macro_rules! shape_table {
    ($name:ident: $function:path, $operands:expr;
     $({$($attr:ident: $value:expr),*} $inputs:literal => $expected:literal;)*) => {
        #[test]
        fn $name() {
            $($crate::testing::check(
                $function,
                &$operands,
                &crate::Attrs::new()$(.with(stringify!($attr), $value))*,
                $inputs,
                $expected,
            );)*
        }
    };
}
pub(crate) use shape_table;

/// Returns an attribute that is a list of dtypes.
pub(crate) fn dtypes(dtypes: &[DType]) -> Attr {
    Attr::DTypes(dtypes.into())
}

/// Returns an attribute that is a list of shapes of these sizes.
pub(crate) fn shapes(shapes: &[&[i64]]) -> Attr {
    let shape = |sizes: &&[i64]| TensorShape::new(sizes.iter().map(|size| Dim::known(*size)));
    Attr::Shapes(shapes.iter().map(shape).collect())
}

/// The operands of one case.
struct Case {
    shapes: Vec<TensorShape>,
    dtypes: Vec<DType>,
    values: Vec<Option<PartialElements>>,
}

/// Parses the inputs of a case and imports them into `table`.
fn parse(inputs: &str, table: &mut DimTable) -> Case {
    let mut case = Case { shapes: Vec::new(), dtypes: Vec::new(), values: Vec::new() };
    for input in inputs.split(';').map(str::trim).filter(|input| !input.is_empty()) {
        let (shape, value) = match input.split_once('=') {
            Some((shape, value)) => (shape.trim(), Some(value.trim())),
            None => (input, None),
        };
        let (dtype, shape) = match shape.split_once(' ') {
            Some((dtype, shape)) if dtype.parse::<DType>().is_ok() => (dtype.parse().unwrap(), shape.trim()),
            _ => (if value.is_some() { DType::I32 } else { DType::F32 }, shape),
        };
        let shape = shape.parse::<TensorShape>().unwrap_or_else(|error| panic!("{shape}: {error}"));
        case.shapes.push(table.import(&shape));
        case.dtypes.push(dtype);
        case.values.push(value.map(|text| {
            let list = text.trim_start_matches('[').trim_end_matches(']');
            let mut elements: Vec<Dim> = Vec::new();
            for element in list.split(',').map(str::trim).filter(|element| !element.is_empty()) {
                let dim: Dim = element.parse().unwrap_or_else(|error| panic!("{element}: {error}"));
                // A `?` becomes an integer symbol of the table.
                elements.push(
                    dim.substitute(&mut |symbol| symbol.is_free().then(|| table.fresh(SymbolKind::Integer))),
                );
            }
            match shape.as_known() {
                Some(sizes) => PartialElements::with_sizes(&sizes, elements).unwrap(),
                None => PartialElements::vector(elements),
            }
        }));
    }
    case
}

/// Runs a shape function on a case. An operand whose name is an attribute is not passed.
fn run(
    function: ShapeFn,
    names: &[&'static str],
    attrs: &Attrs,
    case: &Case,
    table: &mut DimTable,
    outputs: usize,
) -> Result<InferenceResult> {
    let names: Vec<&'static str> = names.iter().copied().filter(|name| attrs.get(name).is_none()).collect();
    let operands: Vec<OperandInfo<'_>> = case
        .shapes
        .iter()
        .zip(&case.dtypes)
        .zip(&case.values)
        .map(|((shape, dtype), value)| OperandInfo { shape, dtype: *dtype, value: value.as_ref() })
        .collect();
    let mut cx = InferenceContext::new(&names, &operands, attrs, table, outputs);
    function(&mut cx)?;
    cx.finish()
}

/// Runs one case, compares the text of its outcome, and refines an accepted case with 40 seeds.
#[track_caller]
pub(crate) fn check(function: ShapeFn, names: &[&'static str], attrs: &Attrs, inputs: &str, expected: &str) {
    let mut table = DimTable::new();
    let case = parse(inputs, &mut table);
    // A refusal may give the number of outputs: `error(2 outputs) …`.
    let (expected, outputs) = match expected
        .strip_prefix("error(")
        .and_then(|rest| rest.split_once(" outputs)"))
    {
        Some((count, part)) => (format!("error{part}"), count.parse().unwrap()),
        None => (expected.to_owned(), expected.split(" if ").next().unwrap_or_default().split(';').count()),
    };
    let label = format!("{{{attrs}}} {inputs}");
    match run(function, names, attrs, &case, &mut table, outputs) {
        Err(error) => match expected.strip_prefix("error") {
            Some(part) => assert!(error.message().contains(part.trim()), "{label}: got {error}"),
            None => panic!("{label}: expected {expected}, got error {error}"),
        },
        Ok(result) => {
            let spelling = position_names(&case);
            let mut got = describe(&spelling, &result);
            if expected.contains(" if ") {
                let guards: Vec<String> =
                    table.guards().iter().map(|record| show_guard(&record.guard, &spelling)).collect();
                got = format!("{got} if {}", guards.join(", "));
            }
            assert_eq!(got, expected, "{label}");
            for seed in 0..40 {
                refine(&label, function, names, attrs, &case, &table, &result, seed);
            }
        }
    }
}

/// Runs a case. If the shape function accepts the case, refines the case `times` times. Returns the number of refined
/// cases, and how many of them the shape function accepted.
pub(crate) fn refine_randomly(
    function: ShapeFn,
    names: &[&'static str],
    attrs: &Attrs,
    inputs: &str,
    outputs: usize,
    times: u64,
) -> (u64, u64) {
    let mut table = DimTable::new();
    let case = parse(inputs, &mut table);
    let label = format!("{names:?} {{{attrs}}} {inputs}");
    match run(function, names, attrs, &case, &mut table, outputs) {
        Ok(result) => {
            let accepted = (0..times)
                .filter(|seed| refine(&label, function, names, attrs, &case, &table, &result, *seed))
                .count();
            (times, accepted as u64)
        }
        Err(_) => (0, 0),
    }
}

/// Names every anonymous symbol of the operands by the first position at which it occurs: `d0_1` for axis 1 of operand
/// 0, `v1_0` for element 0 of operand 1.
fn position_names(case: &Case) -> Anonymous {
    let mut names: Vec<(Symbol, String)> = Vec::new();
    let mut note = |dim: &Dim, text: String| {
        if let Some(symbol) = dim.as_symbol().filter(|symbol| symbol.is_anonymous())
            && !names.iter().any(|(other, _)| *other == symbol)
        {
            names.push((symbol, text));
        }
    };
    for (operand, (shape, value)) in case.shapes.iter().zip(&case.values).enumerate() {
        for (axis, dim) in shape.dims().unwrap_or_default().iter().enumerate() {
            note(dim, format!("d{operand}_{axis}"));
        }
        for (element, dim) in value.iter().flat_map(|value| value.elements()).enumerate() {
            note(dim, format!("v{operand}_{element}"));
        }
    }
    Anonymous::Spelled(names.into_iter().collect())
}

fn show(dim: &Dim, names: &Anonymous) -> String {
    let mut text = String::new();
    write_dim(&mut text, dim, names).unwrap();
    text
}

fn show_all(dims: &[Dim], names: &Anonymous) -> String {
    format!("[{}]", dims.iter().map(|dim| show(dim, names)).collect::<Vec<_>>().join(", "))
}

fn show_guard(guard: &Guard, names: &Anonymous) -> String {
    let [a, b] = guard.dims().map(|dim| show(dim, names));
    match guard {
        Guard::Eq(..) => format!("{a} == {b}"),
        Guard::Ge(..) => format!("{a} >= {b}"),
        Guard::OneOrEqual(..) => format!("{a} in {{1, {b}}}"),
        Guard::Divides { .. } => format!("{a} divides {b}"),
    }
}

fn describe(names: &Anonymous, result: &InferenceResult) -> String {
    let outputs = result.shapes().iter().zip(result.values()).map(|(shape, value)| {
        let shape = shape.dims().map_or("?".to_owned(), |dims| show_all(dims, names));
        match value {
            Some(value) if value.rank() == 0 => format!("{shape} = {}", show(&value.elements()[0], names)),
            Some(value) => format!("{shape} = {}", show_all(value.elements(), names)),
            None => shape,
        }
    });
    outputs.collect::<Vec<_>>().join("; ")
}

/// Replaces the symbols of the operands by numbers drawn from `seed`, infers again, and compares with the `promised`
/// result. Returns whether the concrete case was accepted.
#[expect(clippy::too_many_arguments, reason = "a case, its result, and a seed")]
fn refine(
    label: &str,
    function: ShapeFn,
    names: &[&'static str],
    attrs: &Attrs,
    case: &Case,
    table: &DimTable,
    promised: &InferenceResult,
    seed: u64,
) -> bool {
    let drawn_number = |symbol: Symbol| -> i64 {
        // Equal symbols take the same value, so that the case has a chance to be accepted.
        let key = match table.resolve(&Dim::from(symbol)) {
            Dim(DimRepr::Known(value)) => return value,
            dim => dim.as_symbol().unwrap_or(symbol),
        };
        let mixed = (key.name().map_or(format!("{key:?}"), str::to_owned).bytes())
            .fold(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x51, |h, b| {
                (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
            });
        let range = if key.kind() == SymbolKind::Integer { -3..6 } else { 0..7 };
        range.start + ((mixed >> 20) % (range.end - range.start) as u64) as i64
    };
    let inputs: std::cell::RefCell<Vec<Symbol>> = Default::default();
    let concrete = |dim: &Dim| {
        dim.try_substitute(&mut |symbol| {
            inputs.borrow_mut().push(symbol);
            Some(Dim::known(drawn_number(symbol)))
        })
    };
    let mut fixed = Case { shapes: Vec::new(), dtypes: case.dtypes.clone(), values: Vec::new() };
    for (shape, value) in case.shapes.iter().zip(&case.values) {
        let Some(dims) = shape.dims() else { return false };
        let Ok(dims) = dims.iter().map(concrete).collect::<Result<Vec<_>>>() else { return false };
        fixed.shapes.push(TensorShape::from(dims));
        fixed.values.push(value.as_ref().map(|value| value.map(|dim| concrete(dim).unwrap())));
    }
    let attrs = attrs.iter().fold(Attrs::new(), |attrs, (name, attr)| {
        let attr = match attr {
            crate::Attr::Shape(shape) => match shape.dims() {
                Some(dims) => TensorShape::new(dims.iter().map(|dim| concrete(dim).unwrap())).into(),
                None => attr.clone(),
            },
            _ => attr.clone(),
        };
        attrs.with(name.to_owned(), attr)
    });
    let mut fresh = DimTable::new();
    let Ok(found) = run(function, names, &attrs, &fixed, &mut fresh, promised.shapes().len()) else {
        return false;
    };
    let inputs = inputs.into_inner();
    let value_of = |symbol: Symbol| inputs.contains(&symbol).then(|| drawn_number(symbol));
    let label = format!("{label} refined to {:?} {:?}", fixed.shapes, fixed.values);
    for record in table.guards() {
        let held = record.guard.check(&value_of);
        assert!(!matches!(held, Ok(Some(false)) | Err(_)), "{label}: {} does not hold", record.guard);
    }
    for equality in table.equalities() {
        if let (Ok(Some(a)), Ok(Some(b))) =
            (Dim::from(equality.symbol).eval(&value_of), equality.dim.eval(&value_of))
        {
            assert_eq!(a, b, "{label}: {equality:?}");
        }
    }
    let compare = |what: &str, promised: &Dim, found: &Dim| {
        let promised = match table.resolve(promised).eval(&value_of) {
            Ok(promised) => promised,
            // An element without a value, such as a quotient by 0, makes the op itself fail: nothing to compare.
            Err(_) if what == "element" => None,
            Err(error) => panic!("{label}: {error}"),
        };
        if let (Some(promised), Some(found)) = (promised, found.as_known()) {
            assert_eq!(promised, found, "{label}: {what}");
        }
    };
    for (promised, found) in promised.shapes().iter().zip(found.shapes()) {
        if let Some(dims) = promised.dims() {
            let found = found.dims().unwrap_or_else(|| panic!("{label}: the rank must stay known"));
            assert_eq!(dims.len(), found.len(), "{label}");
            dims.iter().zip(found).for_each(|(a, b)| compare("dimension", a, b));
        }
    }
    for (promised, found) in promised.values().iter().zip(found.values()) {
        if let (Some(promised), Some(found)) = (promised, found) {
            promised.elements().iter().zip(found.elements()).for_each(|(a, b)| compare("element", a, b));
        }
    }
    for (name, promised) in promised.derived() {
        if let Some((_, found)) = found.derived().find(|(other, _)| *other == name) {
            promised.iter().zip(found).for_each(|(a, b)| compare(name, a, b));
        }
    }
    true
}

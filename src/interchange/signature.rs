//! `OpSignature`: inputs, outputs and attributes of a TensorFlow op, from the tables `signatures.tsv` and
//! `signature_dtypes.txt`.

use std::sync::{LazyLock, OnceLock};

use shapeflow_shape_fns::DType;

/// The table that `tests/record_tensorflow_ops.py` records from TensorFlow. The script describes the format.
static TABLE: &str = include_str!("signatures.tsv");

/// The sets of dtypes that the table names by their lines.
static SETS: LazyLock<Vec<Vec<DType>>> = LazyLock::new(|| {
    // The sets also have TensorFlow's resources, which are no dtype of this crate.
    let dtypes = |line: &'static str| line.split(' ').filter_map(|name| name.parse().ok()).collect();
    include_str!("signature_dtypes.txt").lines().map(dtypes).collect()
});

/// A line of the table: op type, the text of the other columns, and the signature that is parsed from this text on
/// first use.
type Line = (&'static str, &'static str, OnceLock<OpSignature>);

/// The lines of the table, sorted by op type.
static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(op_type, rest)| (op_type, rest, OnceLock::new())).collect()
});

/// A TensorFlow op's declaration.
#[derive(Clone, Debug)]
pub(super) struct OpSignature {
    pub inputs: Vec<Argument>,
    pub outputs: Vec<Argument>,
    pub attrs: Vec<Attribute>,
    /// The version of graphs from which on TensorFlow refuses the op; `None` for an op that TensorFlow has not removed.
    pub removed_in: Option<i32>,
}

/// A declared input or output, which may stand for several tensors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    pub name: &'static str,
    /// The integer attribute that gives the number of tensors of one dtype; `None` for a single tensor, or if `dtype`
    /// gives the number.
    pub count: Option<&'static str>,
    pub dtype: ArgumentType,
    /// Whether the op refuses a scalar and takes a vector.
    pub is_vector: bool,
}

impl Argument {
    /// Returns whether the argument stands for any number of tensors.
    pub(super) fn is_list(&self) -> bool {
        self.count.is_some() || matches!(self.dtype, ArgumentType::List(_))
    }
}

/// The source of an argument's dtype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArgumentType {
    Fixed(DType),
    /// The attribute of this name, which holds a dtype.
    Attr(&'static str),
    /// The attribute of this name, which holds a list of dtypes. The argument stands for one tensor of each dtype.
    List(&'static str),
}

/// A declared attribute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    pub name: &'static str,
    /// TensorFlow's name of the attribute's kind, such as `type` or `list(int)`.
    pub kind: &'static str,
    /// The text of the default; `?` for a default that the table does not spell out.
    pub default: Option<&'static str>,
    /// The least value of an integer.
    pub minimum: Option<i64>,
    /// The number of the set of dtypes that the attribute takes, and for which a CPU has a kernel; `None` for all.
    set: Option<usize>,
}

impl Attribute {
    /// Returns whether TensorFlow takes this dtype as the value of the attribute, and computes the op with it.
    pub(super) fn takes(&self, dtype: DType) -> bool {
        self.set.and_then(|set| SETS.get(set)).is_none_or(|dtypes| dtypes.contains(&dtype))
    }
}

/// Returns the declaration of an op type; `None` if TensorFlow lacks the op.
pub(super) fn signature(op_type: &str) -> Option<&'static OpSignature> {
    let row = LINES.binary_search_by(|line| line.0.cmp(op_type)).ok()?;
    let (_, rest, parsed) = LINES.get(row)?;
    Some(parsed.get_or_init(|| OpSignature::of(rest)))
}

/// Returns the op types of TensorFlow, sorted by name.
pub(super) fn op_types() -> impl Iterator<Item = &'static str> {
    LINES.iter().map(|line| line.0)
}

/// Parses an argument: `NAME:DTYPE`, `NAME:ATTR`, `NAME:COUNT*ATTR` or `NAME:[ATTR]`, with `^` at the end of a vector.
fn parse_argument(word: &'static str) -> Option<Argument> {
    let (name, kind) = word.split_once(':')?;
    let (kind, is_vector) = match kind.strip_suffix('^') {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    if let Some(list) = kind.strip_prefix('[') {
        let list = list.strip_suffix(']')?;
        return Some(Argument { name, count: None, dtype: ArgumentType::List(list), is_vector });
    }
    let (count, kind) = match kind.split_once('*') {
        Some((count, kind)) => (Some(count), kind),
        None => (None, kind),
    };
    let dtype = match kind.parse() {
        // No attribute has the name of a dtype.
        Ok(dtype) => ArgumentType::Fixed(dtype),
        Err(_) => ArgumentType::Attr(kind),
    };
    Some(Argument { name, count, dtype, is_vector })
}

/// Parses an attribute: `NAME:KIND` or `NAME:KIND=DEFAULT`, with `>MINIMUM` or `{SET}` after the kind if it has any.
fn parse_attribute(word: &'static str) -> Option<Attribute> {
    let (name, kind) = word.split_once(':')?;
    let (kind, default) = match kind.split_once('=') {
        Some((kind, default)) => (kind, Some(default)),
        None => (kind, None),
    };
    let (kind, minimum) = match kind.split_once('>') {
        Some((kind, minimum)) => (kind, Some(minimum.parse().ok()?)),
        None => (kind, None),
    };
    let (kind, set) = match kind.split_once('{') {
        Some((kind, set)) => (kind, Some(set.strip_suffix('}')?.parse().ok()?)),
        None => (kind, None),
    };
    Some(Attribute { name, kind, default, minimum, set })
}

impl OpSignature {
    /// Parses the columns after the op type: inputs, outputs, attributes, and the version that removed the op.
    fn of(line: &'static str) -> OpSignature {
        let mut columns = line.split('\t');
        let mut words = || columns.next().unwrap_or_default().split(' ').filter(|word| !word.is_empty());
        let inputs = words().filter_map(parse_argument).collect();
        let outputs = words().filter_map(parse_argument).collect();
        let attrs = words().filter_map(parse_attribute).collect();
        let removed_in = words().next().and_then(|version| version.parse().ok());
        OpSignature { inputs, outputs, attrs, removed_in }
    }

    /// Returns whether the dtypes or the number of the inputs determine this attribute. If list inputs have different
    /// length attributes, the inputs determine no length.
    pub(super) fn inputs_determine(&self, attr: &str) -> bool {
        let length = |input: &Argument| match input.dtype {
            ArgumentType::List(name) => Some(name),
            _ => input.count,
        };
        let mut lengths = self.inputs.iter().filter_map(length);
        let first = lengths.next();
        let has_one_length = lengths.all(|other| Some(other) == first);
        self.inputs.iter().any(|input| {
            matches!(input.dtype, ArgumentType::Attr(name) if name == attr)
                || has_one_length && length(input) == Some(attr)
        })
    }

    /// Returns the declaration of an attribute.
    pub(super) fn attr(&self, name: &str) -> Option<&Attribute> {
        self.attrs.iter().find(|attr| attr.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_parses() {
        assert!(LINES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (op, line, _) in LINES.iter() {
            let attrs = &signature(op).unwrap().attrs;
            let words = line.split('\t').nth(2).unwrap().split(' ').filter(|word| !word.is_empty());
            assert_eq!(attrs.len(), words.count(), "{op}");
            assert!(attrs.iter().all(|attr| attr.set.is_none_or(|set| set < SETS.len())), "{op}");
        }
        let concat = signature("ConcatV2").unwrap();
        assert_eq!((concat.inputs[0].name, concat.inputs[0].count), ("values", Some("N")));
        assert_eq!(concat.inputs[1].dtype, ArgumentType::Attr("Tidx"));
        let types = concat.attr("Tidx").unwrap();
        assert_eq!((types.kind, types.default), ("type", Some("int32")));
        assert!(types.takes(DType::I64) && !types.takes(DType::I8));
        assert_eq!(concat.attr("N").unwrap().minimum, Some(2));
        let slice = signature("Slice").unwrap();
        assert_eq!([false, true, true], [0, 1, 2].map(|input| slice.inputs[input].is_vector));
        assert!(
            concat.inputs_determine("N") && concat.inputs_determine("T") && !concat.inputs_determine("axis")
        );
        assert_eq!(signature("Split").unwrap().inputs[0].dtype, ArgumentType::Fixed(DType::I32));
        assert!(signature("NoSuchOp").is_none());
        assert_eq!(signature("MatrixExponential").unwrap().removed_in, Some(27));
        assert_eq!(concat.removed_in, None);
    }

    /// Pairs of TensorFlow's name of an input and the name in a shape function's row, where they differ. A pair does
    /// not hold for an op whose TensorFlow inputs include the pair's second name. So the test finds two operands in
    /// swapped places.
    #[rustfmt::skip]
    const SYNONYMS: &[(&str, &str)] = &[
        ("clip_value_max", "high"), ("clip_value_min", "low"), ("concat_dim", "axis"), ("dim", "axis"),
        ("dimension", "axis"), ("e", "y"), ("features", "x"), ("imag", "y"), ("input", "condition"), ("input", "tensor"), ("input", "x"),
        ("orig_input_tensor_shape", "orig_input_shape"), ("q", "y"), ("real", "x"), ("reduction_indices", "axis"),
        ("split_dim", "axis"), ("t", "x"), ("tensor", "x"), ("value", "x"), ("x", "a"), ("y", "b"),
    ];

    /// The inputs of a node have positions and no names: the row of its shape function names them. If a row has these
    /// names in another order than TensorFlow, every definition gets the wrong operands.
    #[test]
    fn shape_functions_name_the_operands_in_the_order_of_the_table() {
        let mut wrong = Vec::new();
        for row in shapeflow_shape_fns::registered() {
            let Some(signature) = signature(row.op) else {
                // The table has no internal ops, and no ops without inputs and outputs.
                assert!(row.op.starts_with('_') || row.operands.is_empty(), "{} is not in the table", row.op);
                continue;
            };
            let mut inputs = &signature.inputs[..];
            let mut names = row.operands;
            // Shape functions of sparse crosses and the like read several lists as one.
            let (single, named);
            if let Some(first) = names.iter().position(|name| *name == "operands..") {
                let rest = names.len() - first - 1;
                let lists = &inputs[first..inputs.len() - rest];
                assert!(lists.iter().all(Argument::is_list), "{}: {lists:?}", row.op);
                single = [&inputs[..first], &inputs[inputs.len() - rest..]].concat();
                inputs = &single;
                named = [&names[..first], &names[first + 1..]].concat();
                names = &named;
            }
            // A list that is empty in every graph for a CPU.
            if row.op == "_FusedConv2D"
                && let Some((last, rest)) = inputs.split_last()
                && last.name == "host_args"
            {
                inputs = rest;
            }
            let theirs: Vec<&str> = inputs.iter().map(|input| input.name).collect();
            let agrees = |(input, name): (&Argument, &&str)| {
                let own = name.trim_end_matches("..");
                let renamed = SYNONYMS.contains(&(input.name, own)) && !theirs.contains(&own);
                input.is_list() == name.ends_with("..") && (own == input.name || renamed)
            };
            if inputs.len() != names.len() || !inputs.iter().zip(names).all(agrees) {
                wrong.push(format!("{} has {names:?}, TensorFlow {theirs:?}", row.op));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// The import maps an input to an operand by the name in the shape function's row.
    #[test]
    fn definitions_have_the_operands_that_their_shape_functions_name() {
        for def in crate::Registry::builtin().iter() {
            for spelling in def.tensorflow_ops() {
                let row = shapeflow_shape_fns::lookup(spelling.op_type);
                let row = row.unwrap_or_else(|| panic!("{} has no shape function", spelling.op_type));
                assert!(
                    signature(spelling.op_type).is_some(),
                    "{} is not an op of TensorFlow",
                    spelling.op_type
                );
                let operands = def.operand_list().unwrap_or_default();
                for name in row.operands {
                    let found = operands.iter().any(|operand| operand.name() == *name);
                    assert!(found, "{} names {name}, {} does not", spelling.op_type, def.name());
                }
            }
        }
    }
}

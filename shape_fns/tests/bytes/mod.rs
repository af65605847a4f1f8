//! `drive`: interprets any bytes as an op, attributes and operands. The shape function must accept or refuse the inputs
//! and never panic.

use shapeflow_shape_fns::{
    Attr, Attrs, DType, Dim, DimTable, Guard, InferenceContext, IntoDim, OperandInfo, PartialElements,
    SymbolKind, TensorShape, Unknown, registered,
};

/// Attributes that shape functions read, except attributes with the name of an operand.
const ATTRS: &[&str] = &[
    "N",
    "T",
    "adjoint_a",
    "adjoint_b",
    "adj_x",
    "adj_y",
    "align_corners",
    "axis",
    "axes",
    "batch_dim",
    "batch_dims",
    "block_shape",
    "block_size",
    "bounds",
    "compute_uv",
    "compute_v",
    "concat_dim",
    "data_format",
    "depth",
    "dense_shape",
    "dilations",
    "dim",
    "dtype",
    "ellipsis_mask",
    "end",
    "end_mask",
    "begin",
    "begin_mask",
    "equation",
    "exclusive",
    "explicit_paddings",
    "fft_length",
    "filter_format",
    "fixed_length",
    "full_matrices",
    "groups",
    "incompatible_shape_error",
    "input_shape",
    "input_sizes",
    "is_training",
    "k",
    "keep_dims",
    "ksize",
    "ksizes",
    "max_output_size",
    "mode",
    "n",
    "nbins",
    "new_axis_mask",
    "nrows",
    "num",
    "num_partitions",
    "num_results",
    "num_samples",
    "num_segments",
    "num_split",
    "on_value",
    "out_idx",
    "out_type",
    "output_shape",
    "output_type",
    "pad_to_max_output_size",
    "padding",
    "paddings",
    "perm",
    "placeholder",
    "pooling_ratio",
    "ragged_splits_types",
    "rates",
    "reverse",
    "row_partition_types",
    "seq_dim",
    "set_shape",
    "shape",
    "shrink_axis_mask",
    "size",
    "squeeze_dims",
    "start",
    "strides",
    "template",
    "top_paths",
    "transpose_a",
    "transpose_b",
    "type",
    "value",
    "window",
    "Nsparse",
];
const TEXTS: &[&str] = &[
    "SAME",
    "VALID",
    "EXPLICIT",
    "NHWC",
    "NCHW",
    "NDHWC",
    "NCDHW",
    "NCHW_VECT_C",
    "reflect",
    "symmetric",
    "constant",
    "",
    "ij,jk->ik",
    "é",
];
const DTYPES: &[DType] = &[
    DType::F32,
    DType::I32,
    DType::I64,
    DType::Bool,
    DType::U8,
    DType::F64,
    DType::String,
    DType::F16,
    DType::C64,
];
const NUMBERS: &[i64] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    64,
    -1,
    -2,
    -3,
    -5,
    1 << 20,
    1 << 31,
    1 << 32,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
    i64::MIN + 1,
];

/// A byte string that is read from the front and yields zeros after its end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.next() % items.len()]
    }

    /// Draws a number: a small one more often than an extreme one.
    fn number(&mut self) -> i64 {
        match self.next() % 4 {
            0 => self.pick(NUMBERS),
            _ => self.next() as i64 % 6 - 1,
        }
    }

    fn rank(&mut self) -> usize {
        match self.next() % 32 {
            31 => 40 * self.next(),
            other => other % 6,
        }
    }

    /// Draws a dimension or an element. If `is_size`, the dimension is mostly a valid size.
    fn dim(&mut self, table: &mut DimTable, is_size: bool) -> Dim {
        let symbol = |name: &str| Dim::symbol(name);
        match self.next() % 16 {
            0..=5 => Dim::known(self.next() as i64 % 6),
            6 => Dim::known(self.number()),
            7 | 8 => symbol(self.pick(&["n", "m", "k"])),
            9 => symbol("n") * self.number() + self.number(),
            10 => symbol("n") * symbol("m") + self.number(),
            11 => (symbol("n") + self.number()).floordiv(Dim::known(self.number())).unwrap_or(Dim::known(1)),
            12 => symbol("m").max(symbol("k")).unwrap_or(Dim::known(1)),
            13 if is_size => Unknown.into_dim(),
            14 => Dim::known(i64::MAX) + Dim::known(self.number()),
            _ if is_size => table.fresh(SymbolKind::Size),
            _ => table.fresh(SymbolKind::Integer),
        }
    }

    fn shape(&mut self, table: &mut DimTable) -> TensorShape {
        if self.next().is_multiple_of(12) {
            return TensorShape::unranked();
        }
        let rank = self.rank();
        let shape = TensorShape::new((0..rank).map(|_| self.dim(table, true)));
        table.import(&shape)
    }

    fn elements(&mut self, table: &mut DimTable) -> PartialElements {
        let count = self.rank();
        let kind = self.next() % 4;
        let elements: Vec<Dim> =
            (0..if kind == 0 { 1 } else { count }).map(|_| self.dim(table, false)).collect();
        match kind {
            0 => PartialElements::scalar(elements[0].clone()),
            1 if count.is_multiple_of(2) => PartialElements::with_sizes(&[count / 2, 2], elements)
                .unwrap_or_else(|_| PartialElements::vector([])),
            _ => PartialElements::vector(elements),
        }
    }

    fn attr(&mut self, table: &mut DimTable) -> Attr {
        match self.next() % 10 {
            0 | 1 => Attr::Int(self.number()),
            2 => Attr::Bool(self.next().is_multiple_of(2)),
            3 => self.pick(TEXTS).into(),
            4 | 5 => {
                let count = self.rank();
                (0..count).map(|_| self.number()).collect::<Vec<i64>>().into()
            }
            6 => self.pick(DTYPES).into(),
            7 => self.shape(table).into(),
            8 => Attr::Float(self.number() as f64),
            _ => self.elements(table).into(),
        }
    }
}

/// Runs the inference that the bytes describe. The inference must refuse with a message or return valid shapes.
pub fn drive(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let ops = registered();
    let op = &ops[(bytes.next() | bytes.next() << 8) % ops.len()];
    let mut table = DimTable::new();
    let variadic = op.operands.iter().any(|name| name.ends_with(".."));
    let variadic_count = if variadic { bytes.next() % 5 } else { 0 };
    let mut attrs = Attrs::new();
    let mut names: Vec<&'static str> = Vec::new();
    let mut count = 0;
    for name in op.operands {
        // A parameter is an attribute, or is missing, or is an operand.
        match bytes.next() % 12 {
            0 if !name.ends_with("..") => {
                let attr = bytes.attr(&mut table);
                attrs.insert(*name, attr);
            }
            1 if !name.ends_with("..") => {}
            _ => {
                names.push(name);
                count += if name.ends_with("..") { variadic_count } else { 1 };
            }
        }
    }
    for _ in 0..bytes.next() % 5 {
        let (name, attr) = (bytes.pick(ATTRS), bytes.attr(&mut table));
        attrs.insert(name, attr);
    }
    let mut operands: Vec<(TensorShape, DType, Option<PartialElements>)> = Vec::new();
    for _ in 0..count {
        let dtype = bytes.pick(DTYPES);
        operands.push(match bytes.next() % 3 {
            0 => {
                let elements = bytes.elements(&mut table);
                (elements.shape(), dtype, Some(elements))
            }
            1 if !operands.is_empty() => {
                let (shape, ..) = &operands[bytes.next() % operands.len()];
                (shape.clone(), dtype, None)
            }
            _ => (bytes.shape(&mut table), dtype, None),
        });
    }
    for _ in 0..bytes.next() % 3 {
        let (a, b) = (bytes.dim(&mut table, true), bytes.dim(&mut table, true));
        let mark = table.begin();
        let kept = match bytes.next() % 3 {
            0 => table.require(Guard::Ge(a, b)),
            1 => table.require(Guard::Divides { divisor: a, dividend: b }),
            _ => table.merge(&a, &b).map(drop),
        };
        match kept {
            Ok(()) => table.commit(mark),
            Err(_) => table.rollback(mark),
        }
    }
    let outputs = op.outputs.unwrap_or_else(|| bytes.next() % 6);
    let infos: Vec<OperandInfo<'_>> = operands
        .iter()
        .map(|(shape, dtype, value)| OperandInfo { shape, dtype: *dtype, value: value.as_ref() })
        .collect();
    let mark = table.begin();
    let mut cx = InferenceContext::new(&names, &infos, &attrs, &mut table, outputs);
    match (op.shape_fn)(&mut cx).and_then(|()| cx.finish()) {
        Ok(result) => {
            table.commit(mark);
            assert_eq!(result.shapes().len(), outputs, "{}", op.op);
            for shape in result.shapes() {
                assert!(shape.validate().is_ok(), "{}: {shape}", op.op);
            }
            let _ = format!("{result:?} {:?}", table.guards());
        }
        Err(error) => {
            table.rollback(mark);
            assert!(!error.message().is_empty(), "{}", op.op);
            // An error may also blame a declared operand that was not passed.
            let most = infos.len().max(op.operands.len());
            assert!(error.blamed_operand().is_none_or(|operand| operand <= most), "{}: {error}", op.op);
        }
    }
}

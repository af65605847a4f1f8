//! The index of ops in the guide has every builder method, with what its documentation says.
//!
//! The test writes a new index if the environment variable `SHAPEFLOW_WRITE_INDEX` is set.

use std::fmt::Write;
use std::path::Path;

use shapeflow::Registry;

use crate::builder_docs::{Builder, FAMILIES, family};

/// The greatest length of a sentence that does not stand alone, such as `Returns the same elements.`
const SHORT: usize = 32;

/// Sentences above the table of a family: its folder, and the text.
const NOTES: [(&str, &str); 1] = [(
    "ops/reduce",
    "[`Axes::keep_dims`](crate::Axes::keep_dims) keeps the reduced axes with size 1 (`keepdims` in numpy, `keepdim` in \
     torch): `x.reduce_sum(Axes::of(1).keep_dims())`.\n\n",
)];

impl Builder {
    /// Returns the first sentences of the documentation, without links.
    fn meaning(&self) -> String {
        let paragraph = self.docs.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        // A short sentence needs the next one.
        let ends = paragraph.match_indices(". ").map(|(end, _)| end + 1);
        let end = ends.filter(|end| *end > SHORT).min().unwrap_or(paragraph.len());
        let (mut text, mut rest) = (String::new(), &paragraph[..end]);
        while let Some(start) = rest.find("[`") {
            let Some(length) = rest[start..].find("`]") else { break };
            text += &rest[..start];
            text += &rest[start + 1..start + length + 1];
            rest = &rest[start + length + 2..];
            if let Some(target) = rest.strip_prefix('(') {
                rest = target.split_once(')').map_or(target, |(_, after)| after);
            }
        }
        text += rest;
        let text = text.trim().trim_end_matches([':', ';', '.']);
        text.replace('|', "\\|")
    }

    fn link(&self) -> String {
        match &self.owner {
            Some(owner) if owner == "Value" => format!("[`{0}`](crate::Value::{0})", self.name),
            Some(owner) => format!("[`{owner}::{0}`](crate::{owner}::{0})", self.name),
            None => format!("[`{0}`](fn@crate::{0})", self.name),
        }
    }

    /// Returns TensorFlow's names of the op.
    fn tensorflow(&self, registry: &Registry) -> Vec<String> {
        // A method for images calls the op `NAME_3d` for volumes.
        let defs = [registry.get(&self.name), registry.get(&format!("{}_3d", self.name))];
        let defs = defs.into_iter().flatten().filter(|_| self.owner.as_deref() != Some("RaggedValue"));
        let mut names: Vec<String> =
            defs.flat_map(|def| def.tensorflow_ops()).map(|op| op.op_type.to_string()).collect();
        if names.is_empty()
            && let Some((_, after)) = self.docs.replace('\n', " ").split_once("As TensorFlow's `")
        {
            names.extend(after.split('`').next().map(str::to_string));
        }
        names
    }

    /// Returns what computes the op.
    fn computed_by(&self, registry: &Registry) -> &'static str {
        let docs = self.docs.replace('\n', " ");
        if docs.contains("Fuses into kernels") {
            return "kernels";
        }
        if docs.contains("uns on the host") {
            return "host";
        }
        let def = registry.get(&self.name).filter(|_| self.owner.as_deref() != Some("RaggedValue"));
        match def.map(|def| def.body_kind()) {
            Some("compute" | "contraction") => "kernels",
            Some("host") => "host",
            _ => "other ops",
        }
    }
}

fn index() -> String {
    let registry = Registry::builtin();
    let mut text = "Ops: every builder method by family.\n\n\
        *Computed by* says what computes an op: fused kernels, a Rust function on the host, or other ops. *Elsewhere* has \
        the names that numpy and torch give the op, and other names. The search of this page finds all names.\n"
        .to_string();
    for (folder, title) in FAMILIES {
        let note = NOTES.iter().find(|(noted, _)| noted == folder).map_or("", |(_, note)| note);
        let _ = write!(
            text,
            "\n# {title}\n\n{note}| op | what it does | computed by | TensorFlow | elsewhere |\n"
        );
        text.push_str("|---|---|---|---|---|\n");
        for builder in family(folder) {
            let code =
                |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ");
            let (tensorflow, elsewhere) = (code(&builder.tensorflow(&registry)), code(&builder.aliases));
            let (link, meaning) = (builder.link(), builder.meaning());
            let computed_by = builder.computed_by(&registry);
            let _ = writeln!(text, "| {link} | {meaning} | {computed_by} | {tensorflow} | {elsewhere} |");
        }
    }
    text
}

#[test]
fn the_index_has_every_op_as_its_documentation_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/ops.md");
    let index = index();
    if std::env::var_os("SHAPEFLOW_WRITE_INDEX").is_some() {
        std::fs::write(&path, &index).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    for (line, expected) in written.lines().zip(index.lines()) {
        assert_eq!(line, expected, "set SHAPEFLOW_WRITE_INDEX to write the index anew");
    }
    assert_eq!(written.lines().count(), index.lines().count(), "set SHAPEFLOW_WRITE_INDEX");
}

/// Names of ops in numpy, torch and TensorFlow's Python interface. The search of the documentation must find each.
const NAMES_ELSEWHERE: [(&str, &str); 3] = [
    (
        "numpy",
        "abs absolute add all any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin \
         argsort bincount bitwise_and bitwise_or bitwise_xor broadcast_to cbrt ceil clip concatenate conj \
         conjugate copy cos cosh cross cumprod cumsum diag diagonal digitize divide dot dstack einsum equal \
         exp exp2 expand_dims expm1 eye flip fliplr flipud floor floor_divide fmod full gather greater \
         greater_equal histogram hstack i0 imag invert isfinite isinf isnan less less_equal linspace log \
         log1p log2 logical_and logical_not logical_or logical_xor matmul max maximum mean min minimum mod \
         moveaxis multiply negative nonzero norm not_equal ones ones_like pad permutation power prod ravel \
         real reciprocal repeat reshape roll round searchsorted shape sign sin sinh size slice softmax sort \
         split sqrt square squeeze stack std subtract sum svd swapaxes take tan tanh tensordot tile transpose \
         tril triu unique var vstack where zeros zeros_like",
    ),
    (
        "torch",
        "abs add amax amin arange argmax argmin argsort atan2 avg_pool2d bincount bmm bucketize cat chunk \
         clamp clamp_max clamp_min conv2d cumsum depthwise_conv2d div einsum embedding erf erfc erfinv exp \
         expand eye flatten flip float fmod full gather ge gelu gt hardsigmoid hardswish hardtanh histc \
         im2col index_select isfinite isinf isnan istft kthvalue le leaky_relu lerp lgamma linspace \
         log_softmax logsumexp long lt masked_fill masked_select matmul max_pool2d mean mul ne neg normalize \
         numel one_hot permute pixel_shuffle pixel_unshuffle polygamma pow prod rand randint randn randperm \
         reciprocal relu relu6 remainder repeat reshape rsqrt scatter searchsorted selu sgn sigmoid silu \
         softmax softplus softsign solve sort split split_with_sizes squeeze stack std sub sum tanh tensordot \
         tile topk transpose tril triu unbind unfold unique unsqueeze var var_mean view where zeta",
    ),
    (
        "tensorflow",
        "argmax band_part batch_to_space boolean_mask bucketize cast clip_by_value concat cumsum dct \
         dynamic_partition dynamic_stitch einsum expand_dims extract_image_patches fill foldl frame gather \
         gather_nd hamming_window hann_window idct inverse_stft inverse_stft_window_fn \
         kaiser_bessel_derived_window kaiser_window linear_to_mel_weight_matrix map \
         mfccs_from_log_mel_spectrograms moments one_hot overlap_and_add pad range reduce_all reduce_any \
         reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance \
         repeat reverse reverse_sequence roll scan scatter_nd searchsorted segment_max segment_mean \
         segment_min segment_prod segment_sum sequence_mask set_diag shape shuffle size slice space_to_batch \
         split squeeze stack stft strided_slice tensor_scatter_nd_update top_k transpose truncated_normal \
         unique unique_with_counts unsorted_segment_sum unstack vorbis_window where while_loop",
    ),
];

#[test]
fn names_of_other_libraries_are_names_or_aliases() {
    let builders: Vec<Builder> = FAMILIES.iter().flat_map(|(folder, _)| family(folder)).collect();
    let is_known = |name: &str| {
        builders
            .iter()
            .any(|builder| builder.name == name || builder.aliases.iter().any(|alias| alias == name))
    };
    let mut missing = Vec::new();
    for (library, names) in NAMES_ELSEWHERE {
        let unknown = names.split_whitespace().filter(|name| !is_known(name));
        missing.extend(unknown.map(|name| format!("{library}: {name}")));
    }
    assert!(missing.is_empty(), "give an op the `doc(alias)`:\n{}", missing.join("\n"));
}

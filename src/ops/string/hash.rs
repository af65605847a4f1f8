//! `hash_bucket`, `hash_bucket_strong` and `hash_bucket_legacy`: the number of the bucket of each string.

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType, InferenceContext};

use super::params::{attribute_error, check_strings, in_shape_fn, strings};
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::fingerprint::{fingerprint64, murmur64, siphash};

impl<'g> Value<'g> {
    /// Hashes each string to a bucket: FarmHash's `Fingerprint64` modulo `buckets`.
    ///
    /// `string[..] -> i64[..]`. As TensorFlow's `StringToHashBucketFast`, bit for bit. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let buckets = g.constant(["a", "b", "a"])?.hash_bucket(1000)?;
    /// let [buckets] = g.compile(buckets)?.run(&[])?;
    /// let buckets = buckets.to_vec::<i64>()?;
    /// assert!(buckets[0] == buckets[2] && buckets[0] != buckets[1]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or `buckets` is less than 1.
    #[doc(alias = "to_hash_bucket_fast")]
    #[track_caller]
    pub fn hash_bucket(self, buckets: i64) -> Result<Value<'g>> {
        self.graph().op(&FAST).data(self).attr("num_buckets", buckets).finish()
    }

    /// Hashes each string to a bucket: `siphash_2_4(key, string) % buckets`. An attacker who lacks the secret `key`
    /// cannot choose strings that fall into one bucket.
    ///
    /// `string[..] -> i64[..]`. As TensorFlow's `StringToHashBucketStrong`, bit for bit. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let buckets = g.constant(["a", "b", "a"])?.hash_bucket_strong(1000, [1, 2])?;
    /// let [buckets] = g.compile(buckets)?.run(&[])?;
    /// let buckets = buckets.to_vec::<i64>()?;
    /// assert!(buckets[0] == buckets[2] && buckets[0] != buckets[1]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or `buckets` is less than 1.
    #[doc(alias = "to_hash_bucket_strong")]
    #[track_caller]
    pub fn hash_bucket_strong(self, buckets: i64, key: [u64; 2]) -> Result<Value<'g>> {
        let key = Attr::Ints(key.map(u64::cast_signed).as_slice().into());
        self.graph().op(&STRONG).data(self).attr("num_buckets", buckets).attr("key", key).finish()
    }

    /// Hashes each string to a bucket by the hash of older TensorFlow graphs, a MurmurHash. New graphs use
    /// [`Value::hash_bucket`].
    ///
    /// `string[..] -> i64[..]`. As TensorFlow's `StringToHashBucket`, bit for bit. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let buckets = g.constant(["a", "b", "a"])?.hash_bucket_legacy(1000)?;
    /// let [buckets] = g.compile(buckets)?.run(&[])?;
    /// let buckets = buckets.to_vec::<i64>()?;
    /// assert!(buckets[0] == buckets[2] && buckets[0] != buckets[1]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or `buckets` is less than 1.
    #[track_caller]
    pub fn hash_bucket_legacy(self, buckets: i64) -> Result<Value<'g>> {
        self.graph().op(&LEGACY).data(self).attr("num_buckets", buckets).finish()
    }
}

pub(crate) static FAST: OpDef = OpDef::host("hash_bucket", |cx| run(cx, fingerprint64))
    .attrs(&[Attribute::int("num_buckets")])
    .operands(&[Operand::Data("input")])
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("StringToHashBucketFast")]);

pub(crate) static STRONG: OpDef = OpDef::host("hash_bucket_strong", |cx| {
    let key = key(cx.attrs())?;
    run(cx, |string| siphash(key, string))
})
.attrs(&[Attribute::int("num_buckets"), Attribute::ints("key")])
.operands(&[Operand::Data("input")])
.shape_fn(|cx| {
    in_shape_fn(key(cx.attrs()))?;
    shape(cx)
})
.dtype_rule(dtypes)
.tensorflow(&[TfOp::new("StringToHashBucketStrong")]);

pub(crate) static LEGACY: OpDef = OpDef::host("hash_bucket_legacy", |cx| run(cx, murmur64))
    .attrs(&[Attribute::int("num_buckets")])
    .operands(&[Operand::Data("string_tensor")])
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("StringToHashBucket")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&FAST, &LEGACY, &STRONG];

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    check_strings(operands, 1).map(|()| vec![DType::I64])
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    in_shape_fn(buckets(cx.attrs()))?;
    shapeflow_shape_fns::common::unary(cx)
}

fn buckets(attrs: &Attrs) -> Result<u64> {
    match attrs.int("num_buckets") {
        buckets @ 1.. => Ok(buckets.unsigned_abs()),
        other => Err(attribute_error(format!("num_buckets must be at least 1, got {other}"))),
    }
}

fn key(attrs: &Attrs) -> Result<[u64; 2]> {
    match attrs.ints("key") {
        [low, high] => Ok([low.cast_unsigned(), high.cast_unsigned()]),
        other => Err(attribute_error(format!("key must be two integers, got {other:?}"))),
    }
}

fn run(cx: &mut HostCx<'_>, hash: impl Fn(&[u8]) -> u64) -> Result<()> {
    let (x, view, buckets) = (strings(cx, 0)?, cx.input(0)?, buckets(cx.attrs())?);
    let mut numbers = cx.unfilled_output(0, view.sizes())?;
    for (number, string) in numbers.as_mut_slice::<i64>()?.iter_mut().zip(x.iter()) {
        *number = (hash(string) % buckets).cast_signed();
    }
    Ok(())
}

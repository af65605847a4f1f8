//! `list_as_shape`: a tensor whose sizes are the elements of a list.

use shapeflow_shape_fns::{
    Attr, Attribute, DType, Dim, Guard, InferenceContext, List, ShapeError, TensorShape, counted,
};

use crate::dtype;
use crate::error::Result;
use crate::expr::Expr;
use crate::graph::{Graph, IntoParam};
use crate::op::{OpDef, Operand};

/// A part of pools and of gradients, which need the elements of a list that is a value as dimensions: zeros whose sizes
/// are the elements of `list`. A graph needs the sizes only, and never computes the zeros.
///
/// The list has `rank` elements of at least `least`. If the batch size and the number of channels are given as
/// `others`, the list may also have the elements of the spatial axes only; `channel_axis` is the axis of the channels.
/// A run refuses a size other than 1 along an axis of `ones`. Errors call the list `name`.
pub(super) static DEF: OpDef = OpDef::compute("list_as_shape", |_, _, _| Expr::zero(DType::U8))
    .internal()
    .attrs(&[
        Attribute::str("name"),
        Attribute::int("rank"),
        Attribute::int_or("least", 0),
        Attribute::ints_or("ones", &[]),
        Attribute::int_or("channel_axis", 1),
    ])
    .operands(&[Operand::Size("list"), Operand::Size("others")])
    .shape_fn(shape)
    .dtype_rule(|dtypes, _| {
        if !dtypes.is_empty() {
            dtype::common(dtypes, 0, dtypes.len(), dtype::Class::Integer)?;
        }
        Ok(vec![DType::U8])
    });

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let (name, rank) = (cx.str("name")?.to_string(), usize::try_from(cx.int("rank")?).unwrap_or(0));
    let least = Dim::known(cx.int_or("least", 0)?);
    let ones = cx.ints_or("ones", &[])?.to_vec();
    let others = match cx.param_vector("others")? {
        List::Elements(others) if others.len() == 2 => Some(others),
        _ => None,
    };
    let list = cx.param_vector("list")?;
    let spatial = rank.saturating_sub(2);
    let may_be_short = others.is_some();
    if let Some(count) =
        list.known_len().filter(|count| *count != rank && !(may_be_short && *count == spatial))
    {
        let counts = if may_be_short { format!("{spatial} or {rank}") } else { rank.to_string() };
        return Err(ShapeError::new(format_args!(
            "{name} must have {counts}, got {count}",
            counts = counted(counts, "entry")
        )));
    }
    let elements: Vec<Option<Dim>> = match list {
        List::Elements(elements) => elements.into_iter().map(Some).collect(),
        List::Unknown(count) => vec![None; count.unwrap_or(rank)],
        List::Absent => return Err(ShapeError::new(format_args!("{name} must be given: it is a list"))),
    };
    // A symbol of an element may belong to a node that only gives elements. A size is a symbol of this node.
    let mut sizes: Vec<Dim> = Vec::with_capacity(rank);
    for element in elements {
        sizes.push(element.filter(Dim::is_known).unwrap_or_else(|| cx.fresh()));
    }
    if let (Some([batch, channels]), true) = (others.as_deref(), sizes.len() < rank) {
        let channel_axis = usize::try_from(cx.int_or("channel_axis", 1)?).unwrap_or(0);
        sizes.insert(0, batch.clone());
        sizes.insert(channel_axis.min(sizes.len()), channels.clone());
    }
    for (axis, size) in sizes.iter().enumerate() {
        // A run knows every element. An equality would remove the only use of an unknown element, and with it the
        // check.
        if ones.contains(&(axis as i64)) && size.as_known().is_some_and(|size| size != 1) {
            return Err(ShapeError::new(format_args!("{name} must be 1 at axis {axis}, got {size}")));
        }
        cx.require(Guard::Ge(size.clone(), least.clone()))
            .map_err(|_| ShapeError::new(format_args!("{name} must be at least {least}, got {size}")))?;
    }
    cx.set_output(0, TensorShape::from(sizes));
    Ok(())
}

/// The requirements of a list.
pub(super) struct Requirements<'a> {
    pub name: &'static str,
    pub rank: usize,
    pub least: i64,
    pub ones: &'a [usize],
    /// The batch size and the number of channels, and the axis of the channels, if the list may leave them out.
    pub others: Option<([Dim; 2], usize)>,
}

/// Returns the sizes that the list `given` holds, as dimensions.
///
/// # Errors
/// The list provably does not meet the requirements.
pub(super) fn list_dims<'g>(
    graph: &'g Graph,
    given: impl IntoParam<'g>,
    requirements: Requirements<'_>,
) -> Result<Vec<Dim>> {
    let Requirements { name, rank, least, ones, others } = requirements;
    let one_axes: Vec<i64> = ones.iter().map(|axis| *axis as i64).collect();
    let call = graph.op(&DEF).size("list", given).attr("name", name).attr("rank", rank as i64);
    let mut call = call.attr("least", least).attr("ones", Attr::Ints(one_axes.into()));
    if let Some((others, channel_axis)) = others {
        call = call.size("others", others).attr("channel_axis", channel_axis as i64);
    }
    Ok(call.finish()?.shape().dims().expect("the shape function gives a rank").to_vec())
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::shape_table;

    shape_table! { lists: DEF, {"name": "ksize", "rank": 3, "least": 1, "ones": [0]},
        "list=i64[?]" => "u8[?, ?, ?]",
        "list=i32[4]" => error "ksize must have 3 entries, got 4",
        "list=f32[3]" => error "must be an integer",
    }
    shape_table! { known: DEF, {"name": "ksize", "rank": 3, "least": 1, "list": [1, 2, 0]},
        "" => error "ksize must be at least 1, got 0",
    }
    shape_table! { ones: DEF, {"name": "ksize", "rank": 2, "ones": [0], "list": [2, 2]},
        "" => error "ksize must be 1 at axis 0, got 2",
    }
    shape_table! { short: DEF, {"name": "sizes", "rank": 4, "list": [5, 6], "others": [2, 3], "channel_axis": 3},
        "" => "u8[2, 5, 6, 3]",
    }
}

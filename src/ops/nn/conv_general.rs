//! `conv`: the convolution of images or of volumes, with any number of batch axes.

use shapeflow_shape_fns::{Attr, Attribute, Attrs, Dim};

use super::conv::{Geometry, convolve};
use super::window::{agree, dims_of, of_rank, with_shape};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{CompositeCx, OpDef, Operand, TfOp};

/// An op for import only: the convolution of images (`filter` of rank 4) or volumes (rank 5),
/// `[.., h, w, g*c], filter [kh, kw, c, g*m] -> [.., oh, ow, g*m]`. Attribute `batch_dims` is the number of axes before
/// the rows, or before the depth of volumes; `groups` is `g`. Else as [`Value::conv_2d`]. As TensorFlow's `Conv`, which
/// takes one group and channels last only. The op is composed of reshapes and of a convolution.
pub(crate) static DEF: OpDef = OpDef::composite("conv", build)
    .attrs(&[
        Attribute::ints("strides"),
        Attribute::str("padding"),
        Attribute::ints_or("explicit_paddings", &[]),
        Attribute::str_or("data_format", "CHANNELS_LAST"),
        Attribute::ints_or("dilations", &[]),
        Attribute::int_or("batch_dims", 1),
        Attribute::int_or("groups", 1),
    ])
    .operands(&[Operand::Data("input"), Operand::Data("filter")])
    .tensorflow(&[TfOp::new("Conv")]);

fn refuse<T>(kind: ErrorKind, message: String) -> Result<T> {
    Err(Error::new(kind, Phase::Build, message))
}

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let &[input, filter] = values else { return Err(Error::msg("conv needs an input and a filter")) };
    dtype::common(&[input.dtype(), filter.dtype()], 0, 2, dtype::Class::Number)?;
    let [batch_dims, groups] = ["batch_dims", "groups"].map(|name| cx.attrs().int(name));
    let Some(batch_dims) = usize::try_from(batch_dims).ok().filter(|count| *count >= 1) else {
        return refuse(ErrorKind::Attribute, format!("batch_dims must be at least 1, got {batch_dims}"));
    };
    if groups < 1 {
        return refuse(ErrorKind::Attribute, format!("groups must be at least 1, got {groups}"));
    }
    // The strides have an entry for the batch, each spatial axis and the channels.
    let strides = cx.attrs().get("strides").and_then(Attr::to_elements).and_then(|list| list.as_known());
    let entries = strides.map_or(0, |strides| strides.len());
    let Some(spatial @ (2 | 3)) = entries.checked_sub(2) else {
        let message = format!("strides must have 4 entries for images or 5 for volumes, got {entries}");
        return refuse(ErrorKind::Attribute, message);
    };
    let geometry = Geometry::new(&attrs(cx.attrs(), spatial)?, spatial)?;
    let input = of_rank(input, spatial + 1 + batch_dims, "the input of a convolution")?;
    let filter = of_rank(filter, spatial + 2, "the filter of a convolution")?;
    let dims = dims_of(input);
    let (batch, rest) = dims.split_at(batch_dims);
    let count = batch.iter().try_fold(Dim::known(1), |count, dim| count.checked_mul(dim))?;
    let flat = match batch_dims {
        1 => input,
        _ => input.reshape(&[&[count], rest].concat()[..])?,
    };
    let x = geometry.channels_last(flat, "the input of a convolution")?;
    let channels = dims_of(filter)[spatial].checked_mul(Dim::known(groups))?;
    let mut dims = dims_of(x);
    let what = "the channels of the input and the groups times the channels of the filter";
    agree(what, &dims[spatial + 1..], std::slice::from_ref(&channels))?;
    dims[spatial + 1] = channels;
    let x = with_shape(what, x, &dims)?;
    let y = geometry.in_format(convolve(&geometry, x, filter)?)?;
    Ok(vec![match batch_dims {
        1 => y,
        _ => y.reshape(&[batch, &dims_of(y)[1..]].concat()[..])?,
    }])
}

/// Returns the attributes with the name that `data_format` has in ops for a fixed number of spatial axes.
fn attrs(attrs: &Attrs, spatial: usize) -> Result<Attrs> {
    let format = match (attrs.str("data_format"), spatial) {
        ("CHANNELS_LAST", 2) => "NHWC",
        ("CHANNELS_LAST", _) => "NDHWC",
        ("CHANNELS_FIRST", 2) => "NCHW",
        ("CHANNELS_FIRST", _) => "NCDHW",
        (other, _) => {
            let message = format!("data_format must be CHANNELS_LAST or CHANNELS_FIRST, got {other:?}");
            return refuse(ErrorKind::Attribute, message);
        }
    };
    let ints = |name: &str| attrs.get(name).cloned().unwrap_or(Attr::Ints([].into()));
    let named = Attrs::new().with("data_format", format).with("padding", attrs.str("padding"));
    let lists = ["strides", "dilations", "explicit_paddings"];
    Ok(lists.into_iter().fold(named, |named, name| named.with(name, ints(name))))
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::{DType, Graph, Tensor, shape};

    fn filter_of_ones<'g>(g: &'g Graph, sizes: &[usize]) -> crate::Value<'g> {
        g.constant(Tensor::full(sizes, 1.0f32).unwrap()).unwrap()
    }

    #[test]
    fn batch_axes_and_groups_are_kept() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["a", "b", 4, "w", 2]).unwrap();
        let call = g.op(&DEF).data(x).data(filter_of_ones(&g, &[1, 1, 1, 4])).attr("strides", [1, 2, 1, 1]);
        let y = call.attr("padding", "SAME").attr("batch_dims", 2).attr("groups", 2).finish().unwrap();
        assert_eq!(y.shape().to_string(), "[a, b, 2, w, 4]");
        let x = Tensor::full(&[2, 1, 4, 1, 2], 3.0f32).unwrap();
        let [y] = g.compile(y).unwrap().run(&[x.view()]).unwrap();
        assert_eq!(y, Tensor::full(&[2, 1, 2, 1, 4], 3.0f32).unwrap());
    }

    #[test]
    fn a_run_refuses_channels_that_are_not_those_of_the_groups() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![1, 2, 2, ?]).unwrap();
        let call = g.op(&DEF).data(x).data(filter_of_ones(&g, &[1, 1, 1, 2])).attr("strides", [1, 1, 1, 1]);
        let exe = g.compile(call.attr("padding", "SAME").finish().unwrap()).unwrap();
        let run = |channels| exe.run::<1>(&[Tensor::full(&[1, 2, 2, channels], 1.0f32).unwrap().view()]);
        assert_eq!(run(1).unwrap()[0], Tensor::full(&[1, 2, 2, 2], 1.0f32).unwrap());
        assert!(run(2).is_err());
    }

    #[test]
    fn bad_convolutions_are_refused() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, [1, 4, 4, 2]).unwrap();
        let of_strides = |sizes: &[usize], strides: &[i64]| {
            g.op(&DEF)
                .data(x)
                .data(filter_of_ones(&g, sizes))
                .attr("strides", strides.to_vec())
                .attr("padding", "SAME")
        };
        let call = |sizes: &[usize]| of_strides(sizes, &[1, 1, 1, 1]);
        let error = call(&[1, 1, 1, 4]).finish().unwrap_err();
        assert!(error.message().contains("the channels of the input"), "{error}");
        let error = call(&[1, 1]).finish().unwrap_err();
        assert!(error.message().contains("the filter of a convolution must have rank 4"), "{error}");
        let error = of_strides(&[1, 1, 2, 4], &[1, 1, 1]).finish().unwrap_err();
        assert!(error.message().ends_with("4 entries for images or 5 for volumes, got 3"), "{error}");
        let error = call(&[1, 1, 2, 4]).attr("batch_dims", 0).finish().unwrap_err();
        assert!(error.message().ends_with("batch_dims must be at least 1, got 0"), "{error}");
    }
}

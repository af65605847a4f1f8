//! The steps of TensorFlow's optimizers, which write the trained variable and the variables of the optimizer.

use crate::error::Result;
use crate::graph::Value;

/// Returns the values that the variables have after a step of an optimizer, from their values `old` before it, and the
/// other inputs of its node; `None` for another op. `attr` returns an attribute of the node by name, or the default if
/// the node lacks it.
pub(super) fn optimizer_step<'g>(
    op: &str,
    old: &[Value<'g>],
    inputs: &[Value<'g>],
    attr: &dyn Fn(&'static str, bool) -> bool,
) -> Result<Option<Vec<Value<'g>>>> {
    Ok(Some(match (op, old, inputs) {
        ("ResourceApplyGradientDescent", &[x], &[rate, gradient]) => vec![x.sub(rate.mul(gradient)?)?],
        ("ResourceApplyMomentum", &[x, sum], &[rate, gradient, momentum]) => {
            let sum = sum.mul(momentum)?.add(gradient)?;
            let step = match attr("use_nesterov", false) {
                true => gradient.mul(rate)?.add(sum.mul(momentum)?.mul(rate)?)?,
                false => sum.mul(rate)?,
            };
            vec![x.sub(step)?, sum]
        }
        ("ResourceApplyKerasMomentum", &[x, velocity], &[rate, gradient, momentum]) => {
            let step = gradient.mul(rate)?;
            let velocity = velocity.mul(momentum)?.sub(step)?;
            let change = match attr("use_nesterov", false) {
                true => velocity.mul(momentum)?.sub(step)?,
                false => velocity,
            };
            vec![x.add(change)?, velocity]
        }
        ("ResourceApplyAdagrad", &[x, squares], &[rate, gradient]) => {
            let squares = with_square(squares, gradient, attr)?;
            vec![x.sub(gradient.mul(rate)?.mul(squares.rsqrt()?)?)?, squares]
        }
        ("ResourceApplyAdagradV2", &[x, squares], &[rate, epsilon, gradient]) => {
            let squares = with_square(squares, gradient, attr)?;
            vec![x.sub(gradient.mul(rate)?.div(squares.sqrt()?.add(epsilon)?)?)?, squares]
        }
        ("ResourceApplyRMSProp", &[x, squares, velocity], &[rate, decay, momentum, epsilon, gradient]) => {
            let squares = toward(squares, gradient.square()?, decay)?;
            let step = gradient.mul(rate)?.div(squares.add(epsilon)?.sqrt()?)?;
            let velocity = velocity.mul(momentum)?.add(step)?;
            vec![x.sub(velocity)?, squares, velocity]
        }
        (
            "ResourceApplyAdam",
            &[x, mean, squares],
            &[mean_power, squares_power, rate, mean_decay, squares_decay, epsilon, gradient],
        ) => {
            let rate = rate.mul(rest(squares_power)?.sqrt()?)?.div(rest(mean_power)?)?;
            let mean = toward(mean, gradient, mean_decay)?;
            let squares = toward(squares, gradient.square()?, squares_decay)?;
            let direction = match attr("use_nesterov", false) {
                true => mean.mul(mean_decay)?.add(gradient.mul(rest(mean_decay)?)?)?,
                false => mean,
            };
            let step = direction.mul(rate)?.div(squares.sqrt()?.add(epsilon)?)?;
            vec![x.sub(step)?, mean, squares]
        }
        _ => return Ok(None),
    }))
}

/// Returns `1 - x`.
fn rest(x: Value<'_>) -> Result<Value<'_>> {
    x.ones_like()?.sub(x)
}

/// Returns the moving average `average` after the next element `x`.
fn toward<'g>(average: Value<'g>, x: Value<'g>, decay: Value<'g>) -> Result<Value<'g>> {
    average.add(x.sub(average)?.mul(rest(decay)?)?)
}

/// Returns the sum of squares of the gradients, with the last gradient if the node updates the sum.
fn with_square<'g>(
    squares: Value<'g>,
    gradient: Value<'g>,
    attr: &dyn Fn(&'static str, bool) -> bool,
) -> Result<Value<'g>> {
    if attr("update_slots", true) { squares.add(gradient.square()?) } else { Ok(squares) }
}

//! [`AddMultiple`]: adds a multiple of a row to another row.

#[cfg(target_arch = "x86_64")]
use super::cpu::has_avx2;

/// A float type whose rows can be added.
pub(crate) trait AddMultiple: Copy {
    /// Adds `from[i] * factor` to `to[i]` for every `i` that both rows have. The product and the sum round separately.
    fn add_multiple(to: &mut [Self], from: &[Self], factor: Self);
}

macro_rules! impl_add_multiple {
    ($t:ident, $wide:ident) => {
        impl AddMultiple for $t {
            fn add_multiple(to: &mut [$t], from: &[$t], factor: $t) {
                #[cfg(target_arch = "x86_64")]
                if has_avx2() {
                    // SAFETY: the processor has AVX2.
                    return unsafe { $wide(to, from, factor) };
                }
                add(to, from, factor)
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $wide(to: &mut [$t], from: &[$t], factor: $t) {
            add(to, from, factor)
        }
    };
}

impl_add_multiple!(f32, wide_f32);
impl_add_multiple!(f64, wide_f64);

#[inline(always)]
fn add<T>(to: &mut [T], from: &[T], factor: T)
where
    T: Copy + std::ops::Mul<Output = T> + std::ops::AddAssign,
{
    for (sum, element) in to.iter_mut().zip(from) {
        *sum += *element * factor;
    }
}

#[cfg(test)]
mod tests {
    use super::AddMultiple;

    #[test]
    fn each_element_is_a_rounded_sum_of_a_rounded_product() {
        for len in [0, 1, 7, 8, 9, 70] {
            let from: Vec<f32> = (0..len).map(|i| (i as f32 + 0.3).sqrt()).collect();
            let mut to: Vec<f32> = (0..len).map(|i| 1.0 / (i as f32 + 1.7)).collect();
            let expected: Vec<f32> = to.iter().zip(&from).map(|(a, b)| a + b * 0.7).collect();
            f32::add_multiple(&mut to, &from, 0.7);
            assert_eq!(to, expected);
        }
    }
}

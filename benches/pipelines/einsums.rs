//! Cases of sums of products in Einstein's notation.

use shapeflow::einsum;

use super::case::{Case, numbers, scaled};

/// Returns all cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(
            "einsum bij,bjk->bik [32,128,128]",
            &["[b, i, j]", "[b, j, k]"],
            || Ok(vec![numbers(&[32, 128, 128])?, scaled(&[32, 128, 128], 0.5, 0.0)?]),
            |_, x| Ok(vec![einsum("bij,bjk->bik", x)?]),
        ),
        Case::new(
            "einsum bqhd,bkhd->bhqk [8,128,8,64]",
            &["[b, q, h, d]", "[b, k, h, d]"],
            || Ok(vec![numbers(&[8, 128, 8, 64])?, scaled(&[8, 128, 8, 64], 0.5, 0.0)?]),
            |_, x| Ok(vec![einsum("bqhd,bkhd->bhqk", x)?]),
        ),
        Case::new(
            "einsum ij,jk,kl->il [1024,32,1024,32]",
            &["[i, 32]", "[32, k]", "[k, 32]"],
            || {
                let (first, last) = (numbers(&[1024, 32])?, scaled(&[1024, 32], 0.05, 0.0)?);
                Ok(vec![first, scaled(&[32, 1024], 0.5, 0.0)?, last])
            },
            |_, x| Ok(vec![einsum("ij,jk,kl->il", x)?]),
        ),
        Case::new(
            "einsum ij,ij->i [4096,1024]",
            &["[i, j]", "[i, j]"],
            || Ok(vec![numbers(&[4096, 1024])?, scaled(&[4096, 1024], 0.5, 0.0)?]),
            |_, x| Ok(vec![einsum("ij,ij->i", x)?]),
        ),
    ]
}

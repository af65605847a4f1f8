//! The text of a [`Guard`]: a factor of both sides is omitted, and a factor of all terms of one side is written in
//! front: `4*n*(m-1)`.

use std::fmt;

use crate::dim::display::{Anonymous, write_dim};
use crate::dim::quotient::gcd;
use crate::{Dim, Guard, Symbol};

impl Guard {
    /// Returns the two symbols that the condition makes equal, and the product that may be 0 instead: `n*a == n*b`
    /// gives `a`, `b` and `n`.
    pub fn equal_symbols(&self) -> Option<([Symbol; 2], Option<Dim>)> {
        let Guard::Eq(a, b) = self else { return None };
        let sides = without_common_number([a.clone(), b.clone()]);
        let (factor, [a, b]) = without_common_product(sides, |_| true);
        Some(([a.as_symbol()?, b.as_symbol()?], factor.filter(|factor| !factor.bounds().is_above(0))))
    }

    /// Returns the text in a spelling of anonymous symbols. The text omits numbers and factors that divide all terms of
    /// both sides. A factor that may be 0 stays as a condition: `n*a == n*b` is written `a == b or n == 0`.
    pub(crate) fn text(&self, spelling: &Anonymous) -> String {
        let [a, b] = self.dims().map(Dim::clone);
        let [a, b] = match self {
            Guard::Eq(..) | Guard::Ge(..) | Guard::Divides { .. } => without_common_number([a, b]),
            Guard::OneOrEqual(..) => [a, b],
        };
        let (factor, [a, b]) = match self {
            // A negative factor would reverse `>=`.
            Guard::Eq(..) => without_common_product([a, b], |_| true),
            Guard::Ge(..) => without_common_product([a, b], |factor| factor.bounds().is_above(-1)),
            Guard::OneOrEqual(..) | Guard::Divides { .. } => (None, [a, b]),
        };
        let [a, b] = [&a, &b].map(|dim| factored_text(dim, spelling));
        let text = match self {
            Guard::Eq(..) => format!("{a} == {b}"),
            // The text begins with the dimension, not with the number.
            Guard::Ge(least, _) if least.is_known() => format!("{b} <= {a}"),
            Guard::Ge(..) => format!("{a} >= {b}"),
            Guard::OneOrEqual(..) => format!("{a} in {{1, {b}}}"),
            Guard::Divides { .. } => format!("{a} divides {b}"),
        };
        match factor.filter(|factor| !factor.bounds().is_above(0)) {
            Some(factor) => format!("{text} or {} == 0", dim_text(&factor, spelling)),
            None => text,
        }
    }
}

/// Writes the condition: `n >= 3`, `n in {1, 5}`, `4 divides n`. With `{:#}` every anonymous symbol shows its own
/// number.
impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&Anonymous::of(&self.dims().map(Dim::clone), f.alternate())))
    }
}

/// Divides both dimensions by the greatest number that divides all their terms.
fn without_common_number([a, b]: [Dim; 2]) -> [Dim; 2] {
    let factor = gcd(a.common_factor(), b.common_factor());
    if factor < 2 {
        return [a, b];
    }
    let factor = Dim::from(factor);
    match (a.floordiv(&factor), b.floordiv(&factor)) {
        (Ok(a), Ok(b)) => [a, b],
        _ => [a, b],
    }
}

/// Divides both dimensions by the product of symbols and calls that all their terms contain, if it is `suitable`.
/// Returns the product too.
fn without_common_product([a, b]: [Dim; 2], suitable: impl Fn(&Dim) -> bool) -> (Option<Dim>, [Dim; 2]) {
    let divided = Dim::common_product(&[&a, &b])
        .filter(suitable)
        .and_then(|factor| Some(([a.exact_div(&factor)?, b.exact_div(&factor)?], factor)));
    match divided {
        Some((sides, factor)) => (Some(factor), sides),
        None => (None, [a, b]),
    }
}

/// Returns the text of a dimension, with the number and the product that all its terms contain before a
/// parenthesis: `4*n*(m-1)`.
fn factored_text(dim: &Dim, spelling: &Anonymous) -> String {
    let factored = Dim::common_product(&[dim]).and_then(|product| {
        let factor = product.checked_mul(Dim::from(dim.common_factor())).ok()?;
        Some((dim.exact_div(&factor)?, factor))
    });
    match factored {
        Some((rest, factor)) if !rest.is_known() && rest.as_symbol().is_none() => {
            format!("{}*({})", dim_text(&factor, spelling), dim_text(&rest, spelling))
        }
        _ => dim_text(dim, spelling),
    }
}

fn dim_text(dim: &Dim, spelling: &Anonymous) -> String {
    let mut text = String::new();
    write_dim(&mut text, dim, spelling).expect("writing to a string does not fail");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_omits_common_factors() {
        let dim = |text: &str| text.parse::<Dim>().unwrap();
        let text = |a, b| Guard::Eq(dim(a), dim(b)).to_string();
        assert_eq!(text("4*n*m-8*n", "12*k"), "n*(m-2) == 3*k");
        assert_eq!(text("6*n", "9"), "2*n == 3");
        assert_eq!(text("4*n+2", "0"), "2*n+1 == 0");
        assert_eq!(text("n", "4*m"), "n == 4*m");
        assert_eq!(Guard::Ge(dim("4*n"), dim("8")).to_string(), "n >= 2");
        assert_eq!(Guard::Ge(dim("8"), dim("4*n")).to_string(), "n <= 2");
        let divides = |divisor, dividend| Guard::Divides { divisor: dim(divisor), dividend: dim(dividend) };
        assert_eq!(divides("12", "4*n*m").to_string(), "3 divides m*n");
        assert_eq!(divides("4", "n+2").to_string(), "4 divides n+2");
    }

    #[test]
    fn a_common_product_stays_as_a_condition_if_it_may_be_zero() {
        let dim = |text: &str| text.parse::<Dim>().unwrap();
        let text = |a, b| Guard::Eq(dim(a), dim(b)).to_string();
        assert_eq!(text("4*n*m", "4*n*k"), "m == k or n == 0");
        assert_eq!(text("n*m*k-n*m", "n*m*j"), "k-1 == j or m*n == 0");
        assert_eq!(text("n*m+m", "n*k+k"), "m*(n+1) == k*(n+1)");
        assert_eq!(text("n*m", "0"), "m*n == 0");
        assert_eq!(text("max(n, 1)*m", "max(n, 1)*k"), "m == k");
        assert_eq!(Guard::Ge(dim("n*m"), dim("3*n")).to_string(), "m >= 3 or n == 0");
        let sum = "4*a*b*c-4*a*b*ceildiv(c, 2)";
        assert_eq!(text(sum, "676*d"), "a*b*(c-ceildiv(c, 2)) == 169*d");
    }

    #[test]
    fn an_equality_of_symbols_shows_under_common_factors() {
        let dim = |text: &str| text.parse::<Dim>().unwrap();
        let text = |a, b| {
            let ([a, b], product) = Guard::Eq(dim(a), dim(b)).equal_symbols()?;
            Some(format!("{a} {b} {}", product.map_or("-".to_string(), |product| product.to_string())))
        };
        assert_eq!(text("n*a", "n*b").unwrap(), "a b n");
        assert_eq!(text("6*n*m*a", "6*n*m*b").unwrap(), "a b m*n");
        assert_eq!(text("max(n, 1)*a", "max(n, 1)*b").unwrap(), "a b -");
        assert_eq!(text("n*a", "2*n*b"), None);
        assert_eq!(text("n*a*c", "n*b"), None);
        assert_eq!(Guard::Ge(dim("a"), dim("b")).equal_symbols(), None);
    }

    #[test]
    fn both_sides_number_anonymous_symbols_together() {
        let mut table = crate::DimTable::new();
        let [a, b, c] = std::array::from_fn(|_| table.fresh(crate::SymbolKind::Size));
        assert_eq!(Guard::Ge(&a + &b, a.clone()).to_string(), "?+?0 >= ?0");
        assert_eq!(Guard::Eq(a.clone() * b, a * c).to_string(), "? == ? or ?0 == 0");
    }
}

//! The parser of dimensions and shapes, which reads the text that `Display` writes.
//!
//! ```text
//! shape := '?' | '[..]' | '[' (dim (',' dim)*)? ']'
//! dim   := product (('+' | '-') product)*
//! product := factor (('*' | '//' | '%') factor)*
//! factor  := '-' factor | digits | name | '?' name? | function '(' dim (',' dim)* ')' | '(' dim ')'
//! ```

use std::str::FromStr;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::dim::Dim;
use crate::dim::poly::Function;
use crate::dim::symbol::{continues_name, starts_name};
use crate::error::bail;
use crate::{IntoDim, Result, ShapeError, TensorShape, Unknown};

/// The greatest nesting depth. The limit ensures that no text can exhaust the stack.
const MAX_NESTING: u32 = 64;

impl FromStr for Dim {
    type Err = ShapeError;

    /// Parses the text that `Display` writes. Every `?` is a new symbol; all `?0` in one text are the same symbol.
    fn from_str(text: &str) -> Result<Dim> {
        let mut parser = Parser::new(text);
        let dim = parser.dim()?;
        parser.expect_end()?;
        Ok(dim)
    }
}

impl FromStr for TensorShape {
    type Err = ShapeError;

    /// Parses the text that `Display` writes: `[2, n, ?]`, `[]`, and `[..]` for an unknown rank; also
    /// `?` for an unknown rank.
    ///
    /// # Errors
    /// The text is not a shape, or a dimension is negative.
    fn from_str(text: &str) -> Result<TensorShape> {
        let mut parser = Parser::new(text);
        if matches!(text.trim(), "?" | "[..]") {
            return Ok(TensorShape::unranked());
        }
        parser.expect('[')?;
        let mut dims: Vec<Dim> = Vec::new();
        if !parser.take(']') {
            loop {
                dims.push(parser.dim()?);
                if parser.take(']') {
                    break;
                }
                parser.expect(',')?;
            }
        }
        parser.expect_end()?;
        let shape = TensorShape::from(dims);
        shape.validate()?;
        Ok(shape)
    }
}

/// Parses a dimension. `?name` is the anonymous symbol `anonymous[name]`; a missing entry is added with a new symbol.
pub(crate) fn parse_sharing<'a>(text: &'a str, anonymous: &mut FxHashMap<&'a str, Dim>) -> Result<Dim> {
    let mut parser = Parser { anonymous: std::mem::take(anonymous), ..Parser::new(text) };
    let dim = parser.dim().and_then(|dim| parser.expect_end().map(|()| dim));
    *anonymous = parser.anonymous;
    dim
}

struct Parser<'a> {
    text: &'a str,
    /// The part of the text that is not parsed yet.
    rest: &'a str,
    /// The nesting depth of the dimension that is being parsed.
    nesting: u32,
    /// The anonymous symbols by the names that follow `?`.
    anonymous: FxHashMap<&'a str, Dim>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        Parser { text, rest: text, nesting: 0, anonymous: FxHashMap::default() }
    }

    /// Skips white space and then `c`. Returns whether `c` was there.
    fn take(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Like [`Parser::take`], for a token of several characters.
    fn take_str(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.take(c) { Ok(()) } else { self.fail(&format!("{c:?}")) }
    }

    fn expect_end(&mut self) -> Result<()> {
        if self.rest.trim().is_empty() { Ok(()) } else { self.fail("the end") }
    }

    fn fail<T>(&self, wanted: &str) -> Result<T> {
        let rest = self.rest.trim_start();
        let got: String = if rest.is_empty() {
            "the end".into()
        } else {
            format!("{:?}", rest.chars().take(20).collect::<String>())
        };
        let text: String = self.text.chars().take(80).collect();
        bail!("a shape must read like [2, n, 4*n, ?]: expected {wanted}, got {got} in {text:?}")
    }

    fn dim(&mut self) -> Result<Dim> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            bail!("a dimension must nest at most {MAX_NESTING} deep, got more");
        }
        let mut sum = self.product()?;
        loop {
            if self.take('+') {
                sum = sum.checked_add(&self.product()?)?;
            } else if self.take('-') {
                sum = match self.take_i64_min() {
                    Some(min) => sum.checked_add(&self.rest_of_product(min)?)?,
                    None => sum.checked_sub(&self.product()?)?,
                };
            } else {
                self.nesting -= 1;
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Result<Dim> {
        let mut product = self.factor()?;
        loop {
            if self.take('*') {
                product = product.checked_mul(&self.factor()?)?;
            } else if self.take_str("//") {
                product = product.floordiv(&self.factor()?)?;
            } else if self.take('%') {
                product = product.modulo(&self.factor()?)?;
            } else {
                return Ok(product);
            }
        }
    }

    /// Takes the digits of `i64::MIN`, whose sign was taken already; without the sign they do not fit in `i64`.
    fn take_i64_min(&mut self) -> Option<Dim> {
        let rest = self.rest.trim_start().strip_prefix("9223372036854775808")?;
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.rest = rest;
        Some(Dim::known(i64::MIN))
    }

    /// Parses the rest of a product whose first factor was taken with its sign. Quotients are refused: `-a // b` is not
    /// `-(a // b)`.
    fn rest_of_product(&mut self, mut product: Dim) -> Result<Dim> {
        while self.take('*') {
            product = product.checked_mul(&self.factor()?)?;
        }
        match self.rest.trim_start().starts_with(['/', '%']) {
            true => bail!("a dimension must fit in 64 bits, got 9223372036854775808"),
            false => Ok(product),
        }
    }

    fn factor(&mut self) -> Result<Dim> {
        let mut negate = false;
        while self.take('-') {
            negate = !negate;
        }
        let start = self.rest.trim_start();
        let digits = start.len() - start.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            self.rest = &start[digits..];
            // The sign is parsed with the digits so that `i64::MIN` parses.
            let text = if negate { format!("-{}", &start[..digits]) } else { start[..digits].to_owned() };
            return match text.parse() {
                Ok(value) => Ok(Dim::known(value)),
                Err(_) => bail!("a dimension must fit in 64 bits, got {text}"),
            };
        }
        let dim = self.primary(start)?;
        if negate { Dim::known(0).checked_sub(&dim) } else { Ok(dim) }
    }

    fn primary(&mut self, start: &'a str) -> Result<Dim> {
        if self.take('(') {
            let dim = self.dim()?;
            self.expect(')')?;
            return Ok(dim);
        }
        if self.take('?') {
            let name = self.name();
            if name.is_empty() {
                return Ok(Unknown.into_dim());
            }
            return Ok(self.anonymous.entry(name).or_insert_with(|| Unknown.into_dim()).clone());
        }
        if !start.starts_with(starts_name) {
            return self.fail("a dimension");
        }
        let name = self.name();
        if !self.rest.trim_start().starts_with('(') {
            let dim = Dim::symbol(name);
            dim.validate()?;
            return Ok(dim);
        }
        let Some(function) = Function::ALL.into_iter().find(|function| function.name() == name) else {
            bail!("a function of dimensions must be floordiv, mod, ceildiv, min, max or bcast, got {name}");
        };
        self.call(function)
    }

    fn name(&mut self) -> &'a str {
        let start = self.rest;
        self.rest = start.trim_start_matches(continues_name);
        &start[..start.len() - self.rest.len()]
    }

    fn call(&mut self, function: Function) -> Result<Dim> {
        self.expect('(')?;
        let mut args: SmallVec<[Dim; 2]> = SmallVec::from_iter([self.dim()?]);
        while self.take(',') {
            args.push(self.dim()?);
        }
        self.expect(')')?;
        if !function.is_lattice() && args.len() != 2 {
            bail!("{} takes 2 dimensions, got {}", function.name(), args.len());
        }
        Ok(crate::dim::evaluate::apply(function, args)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_shapes_parse_back() {
        for text in [
            "[..]",
            "[]",
            "[2, n, ?]",
            "[a+b, 4*n, a*b+2*a-1]",
            "[floordiv(n, 2), ceildiv(n, 4), mod(n, 3)]",
            "[min(m, n), max(3, n), bcast(a, b)]",
            "[?0, ?0]",
            "[?+1, n*n]",
            "[floordiv(n, m)]",
            "[ceildiv(n, m)]",
            "[m-n, n-1, 2*floordiv(a*b+n, 7)+5]",
            "[m*n-9223372036854775808*n, n-9223372036854775808]",
        ] {
            let shape: TensorShape = text.parse().unwrap();
            assert_eq!(shape.to_string(), text);
            assert_eq!(text.parse::<TensorShape>().unwrap(), shape);
        }
    }

    #[test]
    fn operators_parentheses_and_spaces_parse() {
        assert_eq!("[ (n+1)*2 //2 , -(-3) ]".parse::<TensorShape>().unwrap().to_string(), "[n+1, 3]");
        assert_eq!("n % 1".parse::<Dim>().unwrap(), Dim::known(0));
        assert_eq!("-9223372036854775808".parse::<Dim>().unwrap(), Dim::known(i64::MIN));
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in [
            "",
            "[",
            "[2",
            "[2,]",
            "2]",
            "[2] x",
            "[-1]",
            "[0-n-1]",
            "[9223372036854775808]",
            "[n-92233720368547758080]",
            "[n-9223372036854775808//2]",
            "[n//0]",
            "[floordiv(n)]",
            "[sin(n)]",
            "[9223372036854775807*n*2]",
            "n n",
            "[é",
            "[2 3]",
        ] {
            assert!(text.parse::<TensorShape>().is_err(), "{text}");
        }
        let deep = "(".repeat(100_000);
        assert!(deep.parse::<Dim>().is_err());
    }
}

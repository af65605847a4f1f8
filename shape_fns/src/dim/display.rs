//! The text of a dimension, which is the same in every process: it does not depend on the order in which names were
//! interned.

use std::fmt::{self, Write};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::dim::poly::{Atom, Call, Function, Term};
use crate::dim::symbol::Symbol;
use crate::dim::{Dim, DimRepr, Invalid, SymbolNames};

/// Writes the text of `{}` ([`Display`](fmt::Display)) for `{:?}` and for `{:#?}`.
impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Writes text that parses back: `4*n+1`, `ceildiv(n, 2)`. An anonymous symbol is `?`, or is numbered (`?0*?0`) if it
/// occurs more than once. With `{:#}` every anonymous symbol shows its own number.
impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Anonymous::of(std::slice::from_ref(self), f.alternate());
        write_dim(f, self, &names)
    }
}

/// The spelling of anonymous symbols.
pub(crate) enum Anonymous {
    /// Every symbol by its own number.
    Numbered,
    /// The listed symbols by their texts, all other symbols as `?`.
    Spelled(FxHashMap<Symbol, String>),
}

impl Anonymous {
    /// Returns the spelling of `{:#}` if `numbered`, else [`Self::named`] with the names that [`SymbolNames::scope`]
    /// has put into force.
    pub(crate) fn of(dims: &[Dim], numbered: bool) -> Anonymous {
        if numbered { Anonymous::Numbered } else { Anonymous::named(dims, &SymbolNames::in_force()) }
    }

    /// Returns the spelling that shows which anonymous symbols of `dims` are the same: the name of a symbol that has
    /// one, `?0`, `?1`, … for other symbols that occur more than once, and `?` for all other symbols.
    pub(crate) fn named(dims: &[Dim], names: &SymbolNames) -> Anonymous {
        let mut spelled: FxHashMap<Symbol, String> = FxHashMap::default();
        let mut seen: SmallVec<[Symbol; 8]> = SmallVec::new();
        for dim in dims {
            dim.symbols(&mut |symbol| {
                if let Some(name) = names.get(symbol) {
                    spelled.insert(symbol, name.to_string());
                } else if symbol.is_anonymous() {
                    seen.push(symbol);
                }
            });
        }
        let mut occurrences: FxHashMap<Symbol, usize> = FxHashMap::default();
        // Most shapes have few symbols and no symbol twice. Up to 8 symbols are compared in pairs, without allocation.
        let few = seen.len() <= 8;
        if !few {
            for symbol in &seen {
                *occurrences.entry(*symbol).or_default() += 1;
            }
        }
        let is_repeated = |symbol: Symbol| match few {
            true => seen.iter().filter(|other| **other == symbol).count() > 1,
            false => occurrences.get(&symbol).is_some_and(|count| *count > 1),
        };
        let mut next = 0;
        for &symbol in &seen {
            if is_repeated(symbol) {
                spelled.entry(symbol).or_insert_with(|| {
                    next += 1;
                    format!("?{}", next - 1)
                });
            }
        }
        Anonymous::Spelled(spelled)
    }

    fn write(&self, f: &mut dyn Write, symbol: Symbol) -> fmt::Result {
        match self {
            Anonymous::Numbered => write!(f, "{symbol:?}"),
            Anonymous::Spelled(texts) => match texts.get(&symbol) {
                Some(text) => f.write_str(text),
                None => write!(f, "{symbol}"),
            },
        }
    }
}

/// Writes a dimension with the given spelling of anonymous symbols.
pub(crate) fn write_dim(f: &mut dyn Write, dim: &Dim, names: &Anonymous) -> fmt::Result {
    match &dim.0 {
        DimRepr::Known(value) => write!(f, "{value}"),
        DimRepr::Symbol(symbol) => names.write(f, *symbol),
        DimRepr::Poly(poly) => write_terms(f, poly.terms(), names),
        DimRepr::Invalid(Invalid::Name(name)) => {
            f.write_str(&name.quoted().unwrap_or("<invalid>".to_string()))
        }
        DimRepr::Invalid(Invalid::TooLarge) => f.write_str("<too many terms>"),
        DimRepr::Invalid(_) => f.write_str("<invalid>"),
    }
}

/// Writes terms ordered by degree, then by text, so that the order of interning does not show.
fn write_terms(f: &mut dyn Write, terms: &[Term], names: &Anonymous) -> fmt::Result {
    let mut parts: SmallVec<[(usize, String, i64); 4]> = SmallVec::new();
    for (monomial, coefficient) in terms {
        let mut factors: SmallVec<[String; 2]> = SmallVec::new();
        for atom in &monomial.0 {
            let mut text = String::new();
            match atom {
                Atom::Symbol(symbol) => names.write(&mut text, *symbol)?,
                Atom::Call(call) => write_call(&mut text, call, names)?,
            }
            factors.push(text);
        }
        factors.sort_unstable();
        parts.push((factors.len(), factors.join("*"), *coefficient));
    }
    parts.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    // Prefer a first term without a minus sign: `n-m`, not `-m+n`.
    if let Some(first) = parts.iter().position(|part| part.2 > 0)
        && parts[0].2 < 0
        && parts[first].0 > 0
    {
        parts[..=first].rotate_right(1);
    }
    for (position, (degree, factors, coefficient)) in parts.iter().enumerate() {
        match (position, *coefficient < 0) {
            (_, true) => f.write_char('-')?,
            (0, false) => {}
            (_, false) => f.write_char('+')?,
        }
        match (degree, coefficient.unsigned_abs()) {
            (0, value) => write!(f, "{value}")?,
            (_, 1) => f.write_str(factors)?,
            (_, value) => write!(f, "{value}*{factors}")?,
        }
    }
    Ok(())
}

fn write_call(f: &mut dyn Write, call: &Call, names: &Anonymous) -> fmt::Result {
    // `ceildiv(n, k)` with a known `k` is stored as `floordiv(n+k-1, k)`.
    if let (Function::FloorDiv, [dividend, divisor]) = (call.function, call.args.as_slice())
        && let (DimRepr::Poly(poly), Some(by)) = (&dividend.0, divisor.as_known())
        && let Some((last, rest)) = poly.terms().split_last()
        && last.0.is_one()
        && last.1 == by - 1
    {
        f.write_str("ceildiv(")?;
        write_terms(f, rest, names)?;
        return write!(f, ", {by})");
    }
    let mut args: SmallVec<[String; 4]> = SmallVec::new();
    for arg in &call.args {
        let mut text = String::new();
        write_dim(&mut text, arg, names)?;
        args.push(text);
    }
    if call.function.is_lattice() {
        args.sort_unstable();
    }
    write!(f, "{}({})", call.function.name(), args.join(", "))
}

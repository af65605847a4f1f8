//! [`Symbol`]: one unknown of a shape, named or anonymous.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;

/// One unknown. Its range is part of it: a size is never negative, an integer may be.
///
/// Named symbols are sizes and mean the same in the whole process. Anonymous ones belong either to a
/// [`DimTable`](crate::DimTable) or to a free-standing shape.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

/// Which integers a symbol may stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SymbolKind {
    /// A dimension: zero or more.
    Size,
    /// An element of an integer tensor: any `i64`.
    Integer,
}

const ANONYMOUS: u32 = 1 << 31;
const FREE: u32 = 1 << 30;
const INTEGER: u32 = 1 << 29;
const ID: u32 = INTEGER - 1;

#[derive(Default)]
struct Names {
    ids: FxHashMap<&'static str, u32>,
    names: Vec<&'static str>,
}

static NAMES: RwLock<Option<Names>> = RwLock::new(None);
static NEXT_FREE: AtomicU32 = AtomicU32::new(0);

impl Symbol {
    /// The symbol of this name; `None` for what is no name, or when 2^29 names exist.
    ///
    /// A name starts with a letter or `_` and goes on with letters, digits, `_` and `.`.
    pub fn named(name: &str) -> Option<Symbol> {
        if let Some(names) = &*NAMES.read().unwrap_or_else(PoisonError::into_inner)
            && let Some(&id) = names.ids.get(name)
        {
            return Some(Symbol(id));
        }
        if !is_name(name) {
            return None;
        }
        let mut guard = NAMES.write().unwrap_or_else(PoisonError::into_inner);
        let names = guard.get_or_insert_with(Names::default);
        if let Some(&id) = names.ids.get(name) {
            return Some(Symbol(id));
        }
        let id = u32::try_from(names.names.len()).ok().filter(|id| *id <= ID)?;
        // Names live as long as the process: a symbol is a number and carries no lifetime.
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        names.ids.insert(name, id);
        names.names.push(name);
        Some(Symbol(id))
    }

    /// A new anonymous size of a free-standing shape.
    pub(crate) fn free() -> Symbol {
        Symbol(ANONYMOUS | FREE | (NEXT_FREE.fetch_add(1, Ordering::Relaxed) & ID))
    }

    /// The free-standing size of this number, for shapes that are renumbered to be compared.
    pub(crate) fn free_at(position: usize) -> Symbol {
        Symbol(ANONYMOUS | FREE | (position as u32 & ID))
    }

    /// Anonymous symbol `index` of a table; `None` past 2^29.
    pub(crate) fn of_table(index: usize, kind: SymbolKind) -> Option<Symbol> {
        let id = u32::try_from(index).ok().filter(|id| *id <= ID)?;
        Some(Symbol(ANONYMOUS | id | if kind == SymbolKind::Integer { INTEGER } else { 0 }))
    }

    /// The number of an anonymous symbol of a table.
    pub(crate) fn table_index(self) -> Option<usize> {
        (self.0 & (ANONYMOUS | FREE) == ANONYMOUS).then_some((self.0 & ID) as usize)
    }

    /// Whether this is an anonymous symbol of a free-standing shape, not yet of any table.
    pub fn is_free(self) -> bool {
        self.0 & (ANONYMOUS | FREE) == ANONYMOUS | FREE
    }

    /// A number that no other symbol of the same sort has.
    pub(crate) fn number(self) -> usize {
        (self.0 & ID) as usize
    }

    /// Whether the symbol has no name.
    pub fn is_anonymous(self) -> bool {
        self.0 & ANONYMOUS != 0
    }

    /// Which integers it may stand for.
    pub fn kind(self) -> SymbolKind {
        if self.is_anonymous() && self.0 & INTEGER != 0 { SymbolKind::Integer } else { SymbolKind::Size }
    }

    /// Its name, unless it is anonymous.
    pub fn name(self) -> Option<&'static str> {
        if self.is_anonymous() {
            return None;
        }
        let guard = NAMES.read().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().and_then(|names| names.names.get(self.0 as usize).copied())
    }
}

/// Whether `text` can name a symbol.
fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(starts_name) && chars.all(continues_name)
}

/// Whether a name may start with `c`.
pub(crate) fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Whether a name may go on with `c`.
pub(crate) fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// The name, or `?` for an anonymous symbol.
impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("?"))
    }
}

/// The name, or `?` and the number of an anonymous symbol: identity shows.
impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => {
                let home = if self.is_free() { "free" } else { "" };
                let kind = if self.kind() == SymbolKind::Integer { "i" } else { "" };
                write!(f, "?{home}{kind}{}", self.0 & ID)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_symbol_everywhere() {
        let a = Symbol::named("symbol_test_a").unwrap();
        assert_eq!(Symbol::named("symbol_test_a"), Some(a));
        assert_eq!(std::thread::spawn(|| Symbol::named("symbol_test_a")).join().unwrap(), Some(a));
        assert_ne!(Symbol::named("symbol_test_b"), Some(a));
        assert_eq!((a.to_string(), a.kind()), ("symbol_test_a".to_owned(), SymbolKind::Size));
        assert_eq!([Symbol::named(""), Symbol::named("2n"), Symbol::named("a b")], [None; 3]);
    }

    #[test]
    fn anonymous_symbols_know_their_home_and_kind() {
        let size = Symbol::of_table(7, SymbolKind::Size).unwrap();
        let integer = Symbol::of_table(7, SymbolKind::Integer).unwrap();
        assert_eq!((size.table_index(), integer.table_index()), (Some(7), Some(7)));
        assert_eq!((size.kind(), integer.kind()), (SymbolKind::Size, SymbolKind::Integer));
        assert!(Symbol::free().is_free() && !size.is_free() && Symbol::free() != Symbol::free());
        assert_eq!((size.to_string(), format!("{integer:?}")), ("?".into(), "?i7".into()));
        assert_eq!(Symbol::of_table(1 << 30, SymbolKind::Size), None);
    }
}

//! [`Symbol`]: an unknown integer, named or anonymous.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use rustc_hash::FxHashMap;

/// An unknown integer. The symbol includes its kind: a size is never negative, an integer may be negative.
///
/// A named symbol is a size and is the same symbol everywhere in the process. An anonymous symbol belongs to a
/// [`DimTable`](crate::DimTable) or, if it is *free*, to a shape that no table has imported yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u64);

/// The range of values that a symbol may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SymbolKind {
    /// The size of an axis: zero or more.
    Size,
    /// An element of an integer tensor: any `i64`.
    Integer,
}

/// Flag bit: the symbol has no name.
const ANONYMOUS: u64 = 1 << 63;
/// Flag bit of an anonymous symbol: no table owns it.
const FREE: u64 = 1 << 62;
/// Flag bit of an anonymous symbol: its kind is [`SymbolKind::Integer`].
const INTEGER: u64 = 1 << 61;
/// Mask of the symbol's number. A process that makes a billion free symbols per second needs 73 years to use all
/// numbers. The number of a table's symbol has two parts: the number of the table, then the index in the table.
const ID: u64 = INTEGER - 1;
/// Bits of the index in a table.
const INDEX_BITS: u32 = 29;
/// Mask of the index in a table.
const INDEX: u64 = (1 << INDEX_BITS) - 1;
/// The maximum number of names, and of anonymous symbols of a table.
pub(crate) const MAX_COUNT: usize = 1 << INDEX_BITS;

/// The number of a table with anonymous symbols. Two such tables have different numbers, unless both are of runs, or
/// the process makes more than 2^32 such tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableNumber(u32);

impl TableNumber {
    /// The number of the tables of runs. No other table has it. It is the greatest number, so the symbols of a run are
    /// newer than the symbols of every graph.
    pub(crate) const OF_RUN: TableNumber = TableNumber(u32::MAX);

    /// Returns a new number.
    pub(crate) fn next() -> TableNumber {
        TableNumber(NEXT_TABLE.fetch_add(1, Ordering::Relaxed) % u32::MAX)
    }
}

/// The interned names, by text and by number.
#[derive(Default)]
struct Names {
    ids: FxHashMap<&'static str, u64>,
    names: Vec<&'static str>,
}

static NAMES: RwLock<Option<Names>> = RwLock::new(None);
static NEXT_FREE: AtomicU64 = AtomicU64::new(0);
static NEXT_TABLE: AtomicU32 = AtomicU32::new(0);

/// A text that is not a name, for the error message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BadName(u32);

/// The first texts that were refused as names. A [`BadName`] is an index into the list, or `u32::MAX` for a text that
/// is not in the list. An index instead of the text keeps a dimension small.
static BAD_NAMES: Mutex<Vec<Box<str>>> = Mutex::new(Vec::new());

/// The maximum number of texts in the list. The message about a later text does not quote the text.
const BAD_NAMES_KEPT: usize = 64;

impl BadName {
    pub(crate) fn new(text: &str) -> BadName {
        let mut texts = BAD_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = texts.iter().position(|kept| **kept == *text);
        let index = kept.unwrap_or_else(|| {
            if texts.len() < BAD_NAMES_KEPT {
                texts.push(text.into());
            }
            texts.len() - 1
        });
        BadName(if *texts[index] == *text { index as u32 } else { u32::MAX })
    }

    /// Returns the text in quotes, if it is kept.
    pub(crate) fn quoted(self) -> Option<String> {
        let texts = BAD_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        texts.get(self.0 as usize).map(|text| format!("{text:?}"))
    }

    pub(crate) fn message(self) -> String {
        let got = self.quoted().map_or(String::new(), |text| format!(", got {text}"));
        format!("a symbol's name must be a letter or _ followed by letters, digits, _ and .{got}")
    }
}

impl Symbol {
    /// Returns the symbol `name`. Returns `None` if `name` is ill-formed or if 2^29 names exist already.
    ///
    /// A name starts with a letter or `_` and continues with letters, digits, `_` and `.`.
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
        let id = numbered(names.names.len())?;
        // Names are leaked: a symbol is a plain number and carries no lifetime.
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        names.ids.insert(name, id);
        names.names.push(name);
        Some(Symbol(id))
    }

    /// Makes a new free symbol, an anonymous size that no table owns.
    pub(crate) fn free() -> Symbol {
        Symbol(ANONYMOUS | FREE | (NEXT_FREE.fetch_add(1, Ordering::Relaxed) & ID))
    }

    /// Returns free symbol `number`. Shapes are compared after their free symbols are renumbered 0, 1, ….
    pub(crate) fn free_with_number(number: usize) -> Symbol {
        Symbol(ANONYMOUS | FREE | (number as u64 & ID))
    }

    /// Returns anonymous symbol `index` of a table.
    pub(crate) fn of_table(table: TableNumber, index: usize, kind: SymbolKind) -> Symbol {
        let id = u64::from(table.0) << INDEX_BITS | index as u64 & INDEX;
        Symbol(ANONYMOUS | id | if kind == SymbolKind::Integer { INTEGER } else { 0 })
    }

    /// Returns the number of the symbol's table and the index in the table, or `None` for a named or free symbol.
    pub(crate) fn in_table(self) -> Option<(TableNumber, usize)> {
        let table = TableNumber(((self.0 & ID) >> INDEX_BITS) as u32);
        self.age().map(|_| (table, (self.0 & INDEX) as usize))
    }

    /// Returns the place of the symbol in the order in which tables made their symbols, or `None` for a named or free
    /// symbol. A symbol of a run is newer than a symbol of a graph.
    pub(crate) fn age(self) -> Option<u64> {
        (self.0 & (ANONYMOUS | FREE) == ANONYMOUS).then_some(self.0 & ID)
    }

    /// Returns whether the symbol is anonymous and belongs to no table yet.
    pub fn is_free(self) -> bool {
        self.0 & (ANONYMOUS | FREE) == ANONYMOUS | FREE
    }

    /// Returns whether the symbol has no name.
    pub fn is_anonymous(self) -> bool {
        self.0 & ANONYMOUS != 0
    }

    /// Returns the range of values that the symbol may have.
    pub fn kind(self) -> SymbolKind {
        if self.is_anonymous() && self.0 & INTEGER != 0 { SymbolKind::Integer } else { SymbolKind::Size }
    }

    /// Returns the name, or `None` for an anonymous symbol.
    pub fn name(self) -> Option<&'static str> {
        if self.is_anonymous() {
            return None;
        }
        let guard = NAMES.read().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().and_then(|names| names.names.get(self.0 as usize).copied())
    }
}

/// Returns the number of a name; `None` if there are too many.
fn numbered(index: usize) -> Option<u64> {
    (index < MAX_COUNT).then_some(index as u64)
}

/// Returns whether `text` is a well-formed name.
fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(starts_name) && chars.all(continues_name)
}

/// Returns whether a name may start with `c`.
pub(crate) fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Returns whether a name may contain `c` after its first character.
pub(crate) fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// Writes the name, or `?` for an anonymous symbol.
impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("?"))
    }
}

/// Writes the name, or `?` followed by flags and the number for an anonymous symbol, so that its identity shows.
impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => {
                let free = if self.is_free() { "free" } else { "" };
                let kind = if self.kind() == SymbolKind::Integer { "i" } else { "" };
                let number = if self.is_free() { self.0 & ID } else { self.0 & INDEX };
                write!(f, "?{free}{kind}{number}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_symbol_in_every_thread() {
        let a = Symbol::named("symbol_test_a").unwrap();
        assert_eq!(Symbol::named("symbol_test_a"), Some(a));
        assert_eq!(std::thread::spawn(|| Symbol::named("symbol_test_a")).join().unwrap(), Some(a));
        assert_ne!(Symbol::named("symbol_test_b"), Some(a));
        assert_eq!((a.to_string(), a.kind()), ("symbol_test_a".to_owned(), SymbolKind::Size));
        assert_eq!([Symbol::named(""), Symbol::named("2n"), Symbol::named("a b")], [None; 3]);
    }

    #[test]
    fn anonymous_symbols_encode_their_table_index_and_kind() {
        let [table, other] = [TableNumber::next(), TableNumber::next()];
        let size = Symbol::of_table(table, 7, SymbolKind::Size);
        let integer = Symbol::of_table(table, 7, SymbolKind::Integer);
        assert_eq!([size, integer].map(Symbol::in_table), [Some((table, 7)); 2]);
        assert_ne!(Symbol::of_table(other, 7, SymbolKind::Size), size);
        assert_eq!((size.kind(), integer.kind()), (SymbolKind::Size, SymbolKind::Integer));
        assert!(Symbol::free().is_free() && !size.is_free() && Symbol::free() != Symbol::free());
        assert_eq!((size.to_string(), format!("{integer:?}")), ("?".into(), "?i7".into()));
        let last = Symbol::of_table(TableNumber::OF_RUN, MAX_COUNT - 1, SymbolKind::Integer);
        assert_eq!(last.in_table(), Some((TableNumber::OF_RUN, MAX_COUNT - 1)));
        assert!(last.age() > integer.age() && size.age() == integer.age() && Symbol::free().age().is_none());
    }

    #[test]
    fn free_symbols_do_not_repeat_after_many() {
        let first = Symbol::free_with_number(5);
        assert_ne!(Symbol::free_with_number(5 + (1 << 29)), first);
        assert_ne!(Symbol::free_with_number(5 + (1 << 32)), first);
    }
}

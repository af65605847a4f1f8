//! The numbers that ICU gives the scripts of Unicode.

/// The number of a script that is not in the table below.
pub(super) const UNKNOWN: i32 = 103;

/// ISO 15924 names of scripts with ICU's numbers, in the order of the names.
#[rustfmt::skip]
static CODES: &[(&str, i32)] = &[
    ("Adlm", 167), ("Aghb", 159), ("Ahom", 161), ("Arab", 2), ("Armi", 116), ("Armn", 3), ("Avst", 117),
    ("Bali", 62), ("Bamu", 130), ("Bass", 134), ("Batk", 63), ("Beng", 4), ("Bhks", 168), ("Bopo", 5),
    ("Brah", 65), ("Brai", 46), ("Bugi", 55), ("Buhd", 44), ("Cakm", 118), ("Cans", 40), ("Cari", 104),
    ("Cham", 66), ("Cher", 6), ("Chrs", 189), ("Copt", 7), ("Cpmn", 193), ("Cprt", 47), ("Cyrl", 8),
    ("Deva", 10), ("Diak", 190), ("Dogr", 178), ("Dsrt", 9), ("Dupl", 135), ("Egyp", 71), ("Elba", 136),
    ("Elym", 185), ("Ethi", 11), ("Geor", 12), ("Glag", 56), ("Gong", 179), ("Gonm", 175), ("Goth", 13),
    ("Gran", 137), ("Grek", 14), ("Gujr", 15), ("Guru", 16), ("Hang", 18), ("Hani", 17), ("Hano", 43),
    ("Hatr", 162), ("Hebr", 19), ("Hira", 20), ("Hluw", 156), ("Hmng", 75), ("Hmnp", 186), ("Hung", 76),
    ("Ital", 30), ("Java", 78), ("Kali", 79), ("Kana", 22), ("Kawi", 198), ("Khar", 57), ("Khmr", 23),
    ("Khoj", 157), ("Kits", 191), ("Knda", 21), ("Kthi", 120), ("Lana", 106), ("Laoo", 24), ("Latn", 25),
    ("Lepc", 82), ("Limb", 48), ("Lina", 83), ("Linb", 49), ("Lisu", 131), ("Lyci", 107), ("Lydi", 108),
    ("Mahj", 160), ("Maka", 180), ("Mand", 84), ("Mani", 121), ("Marc", 169), ("Medf", 181), ("Mend", 140),
    ("Merc", 141), ("Mero", 86), ("Mlym", 26), ("Modi", 163), ("Mong", 27), ("Mroo", 149), ("Mtei", 115),
    ("Mult", 164), ("Mymr", 28), ("Nagm", 199), ("Nand", 187), ("Narb", 142), ("Nbat", 143), ("Newa", 170),
    ("Nkoo", 87), ("Nshu", 150), ("Ogam", 29), ("Olck", 109), ("Orkh", 88), ("Orya", 31), ("Osge", 171),
    ("Osma", 50), ("Ougr", 194), ("Palm", 144), ("Pauc", 165), ("Perm", 89), ("Phag", 90), ("Phli", 122),
    ("Phlp", 123), ("Phnx", 91), ("Plrd", 92), ("Prti", 125), ("Rjng", 110), ("Rohg", 182), ("Runr", 32),
    ("Samr", 126), ("Sarb", 133), ("Saur", 111), ("Sgnw", 112), ("Shaw", 51), ("Shrd", 151), ("Sidd", 166),
    ("Sind", 145), ("Sinh", 33), ("Sogd", 183), ("Sogo", 184), ("Sora", 152), ("Soyo", 176), ("Sund", 113),
    ("Sylo", 58), ("Syrc", 34), ("Tagb", 45), ("Takr", 153), ("Tale", 52), ("Talu", 59), ("Taml", 35),
    ("Tang", 154), ("Tavt", 127), ("Telu", 36), ("Tfng", 60), ("Tglg", 42), ("Thaa", 37), ("Thai", 38),
    ("Tibt", 39), ("Tirh", 158), ("Tnsa", 195), ("Toto", 196), ("Ugar", 53), ("Vaii", 99), ("Vith", 197),
    ("Wara", 146), ("Wcho", 188), ("Xpeo", 61), ("Xsux", 101), ("Yezi", 192), ("Yiii", 41), ("Zanb", 177),
    ("Zinh", 1), ("Zyyy", 0),
];

/// Returns ICU's number of the script with this ISO 15924 name.
pub(super) fn code_of(name: &str) -> i32 {
    CODES.binary_search_by_key(&name, |(other, _)| other).map_or(UNKNOWN, |row| CODES[row].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_numbers_differ() {
        assert!(CODES.is_sorted());
        let mut codes: Vec<i32> = CODES.iter().map(|(_, code)| *code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), CODES.len());
        assert_eq!((code_of("Latn"), code_of("nope")), (25, UNKNOWN));
    }
}

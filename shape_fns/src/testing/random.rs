//! [`Random`]: shapes and dimensions drawn from a fixed pseudorandom sequence.

/// A fixed pseudorandom sequence, so that a failure is reproducible.
pub(crate) struct Random(pub u64);

impl Random {
    /// Draws a number in `0..limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Draws one of `items`.
    pub(crate) fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len() as u64) as usize]
    }

    /// Draws a number in `low..=high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1).max(1) as u64) as i64
    }

    /// Draws a dimension from the numbers 0 to 4, four expressions and `?`, so that operands often fit.
    pub(crate) fn dim(&mut self) -> String {
        match self.below(10) {
            0..=4 => self.pick(&["0", "1", "2", "3", "4"]).into(),
            5 | 6 => self.pick(&["n", "m", "2*n", "n+1"]).into(),
            _ => "?".into(),
        }
    }

    /// Draws a shape of rank `rank`.
    pub(crate) fn shape(&mut self, rank: usize) -> String {
        let dims: Vec<String> = (0..rank).map(|_| self.dim()).collect();
        format!("[{}]", dims.join(", "))
    }

    /// Draws a shape that often agrees with `shape`.
    pub(crate) fn like(&mut self, shape: &str) -> String {
        let list = shape.trim_matches(|c| c == '[' || c == ']');
        let dims: Vec<String> = list
            .split(", ")
            .filter(|dim| !dim.is_empty())
            .map(|dim| match self.below(6) {
                0 => "?".into(),
                1 => self.dim(),
                _ => dim.to_owned(),
            })
            .collect();
        format!("[{}]", dims.join(", "))
    }

    /// Draws an `i32` vector of `count` elements, each a number in `low..=high`, a name or unknown.
    pub(crate) fn vector(&mut self, count: usize, low: i64, high: i64) -> String {
        let elements: Vec<String> = (0..count)
            .map(|_| match self.below(8) {
                0 => "?".to_owned(),
                1 => self.pick(&["n", "m"]).to_owned(),
                _ => self.between(low, high).to_string(),
            })
            .collect();
        format!("i32 [{count}] = [{}]", elements.join(", "))
    }

    /// Draws an `i32` scalar in `low..=high`, sometimes unknown.
    pub(crate) fn scalar(&mut self, low: i64, high: i64) -> String {
        match self.below(8) {
            0 => "i32 [] = ?".to_owned(),
            _ => format!("i32 [] = {}", self.between(low, high)),
        }
    }

    /// Draws `count` numbers in `low..=high`.
    pub(crate) fn ints(&mut self, count: usize, low: i64, high: i64) -> Vec<i64> {
        (0..count).map(|_| self.between(low, high)).collect()
    }
}

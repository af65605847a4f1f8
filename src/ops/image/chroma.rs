//! `Chroma`: a color as its hue and the range of its components.

use crate::expr::Expr;

/// A color: its hue and the range of its components. Unlike hue, saturation and value, these numbers also describe a
/// color with components below 0.
pub(super) struct Chroma {
    /// From 0 to 6: 0 is red, 2 is green, 4 is blue.
    hue: Expr,
    least: Expr,
    greatest: Expr,
}

impl Chroma {
    /// Describes a color. The hue of a gray is 0.
    pub fn of([red, green, blue]: [Expr; 3]) -> Chroma {
        let number = |value: f64| red.like(value);
        let is_below = |a: &Expr, b: &Expr| a.clone().less(b.clone());
        let has_more_green = is_below(&red, &green);
        // Each row: the sextant of the hue, then the least, the middle and the greatest component.
        let row = |sextant: f64, parts: [&Expr; 3]| {
            [&number(sextant), parts[0], parts[1], parts[2]].map(Expr::clone)
        };
        let choose = |condition: Expr, yes: [Expr; 4], no: [Expr; 4]| {
            [0, 1, 2, 3].map(|number| condition.clone().select(yes[number].clone(), no[number].clone()))
        };
        let green_first = choose(
            is_below(&blue, &red),
            row(1.0, [&blue, &red, &green]),
            choose(is_below(&green, &blue), row(3.0, [&red, &green, &blue]), row(2.0, [&red, &blue, &green])),
        );
        let red_first = choose(
            is_below(&blue, &green),
            row(0.0, [&blue, &green, &red]),
            choose(is_below(&red, &blue), row(4.0, [&green, &red, &blue]), row(5.0, [&green, &blue, &red])),
        );
        let [sextant, least, middle, greatest] = choose(has_more_green, green_first, red_first);
        let share = (middle - &least) / (&greatest - &least);
        let share = is_odd(&sextant).select(number(1.0) - &share, share);
        let is_gray = greatest.clone().equal(least.clone());
        Chroma { hue: is_gray.select(number(0.0), sextant + share), least, greatest }
    }

    /// Turns the hue, where 1 is a full turn.
    pub fn turned(self, delta: Expr) -> Chroma {
        let number = |value: f64| delta.like(value);
        let (zero, six) = (number(0.0), number(6.0));
        let hue = self.hue + &delta * &six;
        let hue = &hue - (&hue / &six).floor() * &six;
        // The quotient is rounded, so the difference may lie one turn outside the range.
        let hue = hue.clone().less(zero.clone()).select(&hue + &six, hue);
        let hue = six.clone().less_equal(hue.clone()).select(&hue - six, hue);
        Chroma { hue, ..self }
    }

    /// Returns red, green and blue.
    pub fn rgb(self) -> [Expr; 3] {
        let Chroma { hue, least, greatest } = self;
        let sextant = hue.clone().floor();
        let share = &hue - &sextant;
        let share = is_odd(&sextant).select(hue.like(1.0) - &share, share);
        let middle = &least + share * (&greatest - &least);
        let below = |end: f64| hue.clone().less(hue.like(end));
        // A hue that is NaN takes the last value.
        let piecewise = |pieces: &[(f64, &Expr)], last: &Expr| {
            let pieces = pieces.iter().rev();
            pieces.fold(last.clone(), |rest, (end, value)| below(*end).select((*value).clone(), rest))
        };
        let red = piecewise(&[(1.0, &greatest), (2.0, &middle), (4.0, &least), (5.0, &middle)], &greatest);
        let green = piecewise(&[(1.0, &middle), (3.0, &greatest), (4.0, &middle)], &least);
        let blue = piecewise(&[(2.0, &least), (3.0, &middle), (5.0, &greatest)], &middle);
        [red, green, blue]
    }
}

/// Returns whether a sextant from 0 to 5 is odd.
fn is_odd(sextant: &Expr) -> Expr {
    let half = sextant * sextant.like(0.5);
    half.clone().floor().less(half)
}

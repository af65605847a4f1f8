//! Numbers in environment variables, which make a test run more cases or larger graphs.

/// Returns the number in an environment variable, or `None` if it is unset or not a number.
pub fn number<T: std::str::FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.parse().ok()
}

//! Lets columns grow so that little of their memory is unused.

/// Appends to a column.
pub(crate) fn push<T>(column: &mut Vec<T>, value: T) {
    make_space(column, 1);
    column.push(value);
}

/// Makes space for `more` values. A column grows by an eighth, because doubling would leave up to half of it unused.
pub(crate) fn make_space<T>(column: &mut Vec<T>, more: usize) {
    if column.capacity() - column.len() < more {
        column.reserve_exact(more.max(column.len() / 8 + 4));
    }
}

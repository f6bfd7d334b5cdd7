//! Long lines of reports, broken at the terminal's width.

use std::io::{self, IsTerminal};

/// Narrowest width that lines are broken at.
const COLUMNS_MIN: usize = 20;

/// Returns the columns of the terminal on standard output; `None` without one: a file or a pipe has whole lines.
pub(crate) fn columns() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    #[cfg(unix)]
    let told = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    #[cfg(not(unix))]
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Some(told.filter(|columns| *columns >= COLUMNS_MIN).unwrap_or(80))
}

/// Breaks the lines of a text at spaces so that none is wider than `columns`, where it has spaces; further lines of one are indented below its
/// first. Styles take no columns.
pub(crate) fn wrapped(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let lines = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => wrapped_line(line, columns) + "\n",
        None => wrapped_line(line, columns),
    });
    lines.collect()
}

fn wrapped_line(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let own = line.len() - line.trim_start().len();
    let indent = " ".repeat(own + 2);
    let (mut out, mut used) = (line[..own].to_owned(), own);
    for (place, word) in line[own..].split(' ').enumerate() {
        let wide = width(word);
        if place > 0 && used + 1 + wide > columns && used > indent.len() {
            out.push('\n');
            out.push_str(&indent);
            used = indent.len();
        } else if place > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += wide;
    }
    out
}

fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::styles::FAINT;

    #[test]
    fn lines_are_broken_at_spaces_and_indented() {
        let text = "  one two three four five\nshort\n";
        assert_eq!(wrapped(text, Some(12)), "  one two\n    three\n    four\n    five\nshort\n");
        assert_eq!(wrapped(text, None), text);
        assert_eq!(wrapped("a 0123456789abcdef b", Some(10)), "a 0123456789abcdef\n  b");
        let styled = format!("{FAINT}one two{FAINT:#} three");
        assert_eq!(wrapped(&styled, Some(13)), styled, "styles take no columns");
    }

    #[test]
    fn no_line_of_a_long_list_is_wider_than_the_terminal() {
        let list = (0..90).map(|number| format!("pbft/mark-{number} {number}")).collect::<Vec<_>>().join(", ");
        let text = wrapped(&format!("  {list}\n"), Some(80));
        assert!(text.lines().count() > 10 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), list.split_whitespace().collect::<Vec<_>>());
    }
}

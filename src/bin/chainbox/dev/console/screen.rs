//! Lines of styled text, cut to the terminal's width, and one last line that is rewritten.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use anstyle::Style;

/// Bytes of text written at a time.
const WRITE_BYTES: usize = 64 << 10;
/// Columns of a terminal that does not tell its width.
const COLUMNS: usize = 80;
/// Lines of what does not fit one, at most.
const PARTS_MAX: usize = 6;
/// Indentation of the further lines of what does not fit one.
pub(super) const INDENT: &str = "  ";

/// One line of styled parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(Vec<(Style, String)>);

impl Line {
    pub(super) fn plain(text: &str) -> Self {
        Self::styled(Style::new(), text)
    }

    pub(super) fn styled(style: Style, text: &str) -> Self {
        Self(vec![(style, text.to_owned())])
    }

    /// Adds a part.
    pub(super) fn and(mut self, style: Style, text: &str) -> Self {
        self.0.push((style, text.to_owned()));
        self
    }

    /// Number of columns.
    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// Returns the line in parts of at most `width` columns, broken at spaces where it has some; what is past [`PARTS_MAX`] stays in the
    /// last one.
    fn wrapped(&self, width: usize) -> Vec<Self> {
        let characters: Vec<(Style, char)> =
            self.0.iter().flat_map(|(style, text)| text.chars().map(|c| (*style, c))).collect();
        let (mut rest, mut parts) = (characters.as_slice(), Vec::new());
        while rest.len() > width && parts.len() + 1 < PARTS_MAX && width > 0 {
            let space = rest[..=width].iter().rposition(|(_, c)| *c == ' ').filter(|space| *space > 0);
            let (part, after) = rest.split_at(space.unwrap_or(width));
            parts.push(Self::of(part));
            rest = if space.is_some() { &after[1..] } else { after };
        }
        parts.push(Self::of(rest));
        parts
    }

    fn of(characters: &[(Style, char)]) -> Self {
        let runs = characters.chunk_by(|one, next| one.0 == next.0);
        Self(runs.map(|run| (run[0].0, run.iter().map(|(_, c)| c).collect())).collect())
    }

    /// Returns the text with styles; where it is wider than `width`, cut, with an ellipsis.
    fn render(&self, width: Option<usize>) -> String {
        let mut left = width.unwrap_or(usize::MAX);
        let is_cut = self.width() > left;
        left -= usize::from(is_cut).min(left);
        let mut rendered = String::new();
        for (style, text) in &self.0 {
            // A line break in what a client sent is none here.
            let shown: String = text.chars().take(left).map(|c| if c.is_control() { ' ' } else { c }).collect();
            left -= shown.chars().count();
            let _ = write!(rendered, "{style}{shown}{style:#}");
        }
        if is_cut {
            rendered.push('…');
        }
        rendered
    }
}

/// Where lines are written.
#[derive(Debug)]
pub(super) struct Screen<W> {
    output: W,
    /// Returns the columns of the terminal; `None` without one.
    width: fn() -> Option<usize>,
    text: String,
    /// Columns of the last line that is rewritten; `None` without one.
    status: Option<usize>,
}

impl<W: Write> Screen<W> {
    pub(super) const fn new(output: W, width: fn() -> Option<usize>) -> Self {
        Self { output, width, text: String::new(), status: None }
    }

    /// Whether a terminal shows the lines.
    pub(super) fn is_terminal(&self) -> bool {
        (self.width)().is_some()
    }

    /// Appends text as it is.
    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends a line, in place of the status.
    pub(super) fn line(&mut self, line: &Line) {
        let rendered = line.render((self.width)());
        self.clear_status();
        self.text.push_str(&rendered);
        self.text.push('\n');
    }

    /// Appends `first` and `second` as one line, or `second` in lines of its own where one does not fit.
    pub(super) fn pair(&mut self, first: &Line, second: &Line) {
        let joined = Line([first.0.as_slice(), &[(Style::new(), INDENT.to_owned())], &second.0].concat());
        if (self.width)().is_none_or(|width| joined.width() <= width) {
            return self.line(&joined);
        }
        self.line(first);
        let width = (self.width)().map_or(usize::MAX, |width| width.saturating_sub(INDENT.len()));
        for part in second.wrapped(width) {
            self.line(&Line([&[(Style::new(), INDENT.to_owned())], part.0.as_slice()].concat()));
        }
    }

    /// Shows a line that the next one replaces. For terminals.
    pub(super) fn status(&mut self, line: &Line) {
        // The last column stays free, for a terminal may wrap as soon as it is used.
        let width = (self.width)().map(|width| width.saturating_sub(1));
        let rendered = line.render(width);
        self.clear_status();
        self.text.push_str(&rendered);
        self.status = Some(line.width().min(width.unwrap_or(usize::MAX)));
    }

    /// Overwrites the status by spaces: output without colours has no other control characters.
    fn clear_status(&mut self) {
        if let Some(columns) = self.status.take() {
            let _ = write!(self.text, "\r{:columns$}\r", "");
        }
    }

    /// Writes what was appended.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.output.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.output.flush()
    }

    /// Writes what was appended once it is long.
    pub(super) fn flush_when_long(&mut self) -> io::Result<()> {
        if self.text.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }
}

/// Returns the columns of the terminal on standard output.
#[cfg(unix)]
pub(super) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    Some(size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS))
}

/// Returns the columns of the terminal on standard output.
#[cfg(not(unix))]
pub(super) fn terminal_width() -> Option<usize> {
    Some(COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(width: fn() -> Option<usize>, write: impl FnOnce(&mut Screen<Vec<u8>>)) -> String {
        let mut screen = Screen::new(Vec::new(), width);
        write(&mut screen);
        screen.flush().unwrap();
        String::from_utf8(screen.output).unwrap()
    }

    #[test]
    fn lines_are_cut_to_the_width_and_whole_without_a_terminal() {
        let line = Line::plain("block 12: ").and(crate::styles::GOOD, "ok\nnot");
        let cut = anstream::adapter::strip_str(&written(|| Some(12), |screen| screen.line(&line))).to_string();
        assert_eq!(cut, "block 12: o…\n");
        let whole = anstream::adapter::strip_str(&written(|| None, |screen| screen.line(&line))).to_string();
        assert_eq!(whole, "block 12: ok not\n");
        assert_eq!(written(|| Some(4), |screen| screen.line(&Line::plain("four"))), "four\n");
    }

    #[test]
    fn a_pair_is_one_line_where_it_fits() {
        let (first, second) = (Line::plain("0123456789"), Line::plain("abcdef"));
        assert_eq!(written(|| Some(18), |screen| screen.pair(&first, &second)), "0123456789  abcdef\n");
        assert_eq!(written(|| Some(17), |screen| screen.pair(&first, &second)), "0123456789\n  abcdef\n");
        assert_eq!(written(|| None, |screen| screen.pair(&first, &second)), "0123456789  abcdef\n");
        let long = Line::plain("one two threefour five");
        assert_eq!(
            written(|| Some(9), |screen| screen.pair(&first, &long)),
            "01234567…\n  one two\n  threefo\n  ur five\n"
        );
        let words = "word ".repeat(40);
        let text = written(|| Some(12), |screen| screen.pair(&first, &Line::plain(words.trim_end())));
        assert_eq!(text.lines().count(), 1 + PARTS_MAX, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 12) && text.ends_with("…\n"), "{text}");
    }

    #[test]
    fn a_status_is_overwritten_by_what_follows() {
        let text = written(
            || Some(10),
            |screen| {
                screen.status(&Line::plain("block 1"));
                screen.status(&Line::plain("blocks 1 to 2"));
                screen.line(&Line::plain("end"));
            },
        );
        assert_eq!(text, "block 1\r       \rblocks 1…\r         \rend\n");
    }
}

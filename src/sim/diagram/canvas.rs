//! Drawing surface: shapes, and texts of which none covers another or leaves the frame.

use svg::{
    Node,
    node::element::{Group, Text},
};

use super::svg_shapes::px;

/// Least distance of a text from the frame.
const MARGIN: i64 = 30;
/// Least distance of two texts in a line.
const GAP: i64 = 10;

/// Shapes drawn so far, and where their texts are.
#[derive(Debug)]
pub(super) struct Canvas {
    group: Group,
    texts: Vec<TextBox>,
    width: i64,
}

/// Bounds of a text.
#[derive(Clone, Copy, Debug)]
struct TextBox {
    left: i64,
    right: i64,
    top: i64,
    bottom: i64,
}

/// Returns the size of a class's font, and the width of a letter in thousandths of it.
fn font(class: &str) -> (i64, i64) {
    let has = |wanted: &str| class.split(' ').any(|one| one == wanted);
    match () {
        () if has("t") => (180, 660),
        () if has("f") => (125, 610),
        () if has("n") => (125, 690),
        () if has("s") => (105, if has("r") || has("o") { 660 } else { 610 }),
        () if has("w") => (100, 690),
        () => (120, 610),
    }
}

/// Returns the width of a text, estimated for a wide font.
pub(super) fn text_width(content: &str, class: &str) -> i64 {
    let (size, letter) = font(class);
    (content.chars().count() as i64 * size * letter + 999) / 1_000
}

/// Returns the text if it is at most `width` wide, else its beginning and an ellipsis.
pub(super) fn cut(content: &str, class: &str, width: i64) -> String {
    let (size, letter) = font(class);
    let most = usize::try_from(width * 1_000 / (size * letter)).unwrap_or_default();
    if content.chars().count() <= most {
        return content.to_owned();
    }
    let mut out: String = content.chars().take(most.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Breaks a text into lines of at most `width`, between words where it can.
pub(super) fn wrapped(content: &str, class: &str, width: i64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in content.split_whitespace() {
        match lines.last_mut().filter(|line| text_width(line, class) + text_width(word, class) + 80 <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(cut(word, class, width)),
        }
    }
    lines
}

impl TextBox {
    fn of(content: &str, class: &str, (x, y): (i64, i64)) -> Self {
        let (size, _) = font(class);
        let width = text_width(content, class);
        let has = |wanted: &str| class.split(' ').any(|one| one == wanted);
        let left = match () {
            () if has("m") => x - width / 2,
            () if has("e") => x - width,
            () => x,
        };
        Self { left, right: left + width, top: y - size * 4 / 5, bottom: y + size / 5 }
    }

    const fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right + GAP
            && other.left < self.right + GAP
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

impl Canvas {
    pub(super) fn new(width: i64) -> Self {
        Self { group: Group::new(), texts: Vec::new(), width }
    }

    /// Adds a shape.
    pub(super) fn add(mut self, shape: impl Into<Box<dyn Node>>) -> Self {
        self.group = self.group.add(shape);
        self
    }

    /// Writes a text at the first of these places where it is within the frame and covers no other, or nowhere.
    pub(super) fn write(self, class: &str, content: &str, places: &[(i64, i64)]) -> Self {
        self.write_in(class, None, content, places)
    }

    /// The same in a colour of its own.
    pub(super) fn write_in(mut self, class: &str, ink: Option<&str>, content: &str, places: &[(i64, i64)]) -> Self {
        let bounds = |place: &(i64, i64)| TextBox::of(content, class, *place);
        let Some(place) = places.iter().find(|place| self.is_free(&bounds(place))) else { return self };
        self.texts.push(bounds(place));
        let text = Text::new(content).set("x", px(place.0)).set("y", px(place.1)).set("class", class);
        self.add(match ink {
            Some(ink) => text.set("style", format!("fill:{ink}")),
            None => text,
        })
    }

    fn is_free(&self, text: &TextBox) -> bool {
        text.left >= MARGIN
            && text.right <= self.width - MARGIN
            && text.top >= MARGIN
            && !self.texts.iter().any(|other| other.overlaps(text))
    }

    /// Returns the drawn shapes and texts.
    pub(super) fn into_group(self) -> Group {
        self.group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_the_first_free_place_or_none() {
        let canvas = Canvas::new(3_000)
            .write("s", "first", &[(100, 200)])
            .write("s", "second", &[(120, 200), (120, 320)])
            .write("s", "third", &[(120, 260)])
            .write("s", "outside", &[(2_900, 600)])
            .write("s e", "inside", &[(2_900, 600)]);
        let written = canvas.into_group().to_string();
        for (word, y) in [("first", Some("20")), ("second", Some("32")), ("third", None), ("outside", None)] {
            let text = written.split("<text").find(|text| text.contains(word));
            assert_eq!(
                text.map(|text| y.is_some_and(|y| text.contains(&format!("y=\"{y}\"")))),
                y.map(|_| true),
                "{word}"
            );
        }
        assert!(written.contains("inside"));
    }

    #[test]
    fn long_texts_are_broken_or_cut_to_the_width() {
        let words = "one two three four five six seven eight nine ten eleven twelve";
        let lines = wrapped(words, "s", 1_000);
        assert!(lines.len() > 3 && lines.iter().all(|line| text_width(line, "s") <= 1_000), "{lines:?}");
        assert_eq!(lines.join(" "), words);
        assert_eq!(wrapped(&"x".repeat(90), "s", 1_000).len(), 1);
        assert!(cut(words, "n", 700).ends_with('…') && text_width(&cut(words, "n", 700), "n") <= 700);
        assert_eq!(cut("short", "n", 700), "short");
    }
}

//! SVG shapes of diagrams. All lengths are tenths of a pixel.

use svg::{
    Document,
    node::element::{Circle, Definitions, Group, Line, Path, Pattern, Rectangle, Style, Title},
};

use super::style;

/// Formats a length for SVG.
pub(super) fn px(tenths: i64) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

pub(super) fn rectangle(x: i64, y: i64, width: i64, height: i64, fill: &str) -> Rectangle {
    Rectangle::new()
        .set("x", px(x))
        .set("y", px(y))
        .set("width", px(width.max(0)))
        .set("height", px(height.max(0)))
        .set("fill", fill)
}

pub(super) fn circle(x: i64, y: i64, radius: i64, fill: &str) -> Circle {
    Circle::new().set("cx", px(x)).set("cy", px(y)).set("r", px(radius)).set("fill", fill)
}

pub(super) fn line(from: (i64, i64), to: (i64, i64), colour: &str) -> Line {
    Line::new()
        .set("x1", px(from.0))
        .set("y1", px(from.1))
        .set("x2", px(to.0))
        .set("y2", px(to.1))
        .set("stroke", colour)
}

pub(super) fn path(data: &str, class: &str) -> Path {
    Path::new().set("d", data).set("class", class)
}

/// Returns a cross as path data.
pub(super) fn cross(x: i64, y: i64, size: i64) -> String {
    let (left, right, top, bottom) = (px(x - size), px(x + size), px(y - size), px(y + size));
    format!("M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}")
}

/// Returns a tooltip.
pub(super) fn hint(content: &str) -> Title {
    Title::new(content)
}

/// Returns the white card around the picture, which keeps it readable on any background.
pub(super) fn card(content: Group, title: &str, width: i64, height: i64) -> String {
    let background = rectangle(5, 5, width - 10, height - 10, "#ffffff").set("rx", 12).set("stroke", "#d0d7de");
    Document::new()
        .set("viewBox", format!("0 0 {} {}", px(width), px(height)))
        .set("width", px(width))
        .set("height", px(height))
        .set("role", "img")
        .add(hint(title))
        .add(Style::new(style::sheet()))
        .add(patterns())
        .add(background)
        .add(content)
        .to_string()
}

/// Hatchings: of a stopped replica, and of one that searches for a leader.
fn patterns() -> Definitions {
    let pattern = |id: &str, ground: &str, stroke: &str| {
        Pattern::new()
            .set("id", id)
            .set("width", 7)
            .set("height", 7)
            .set("patternUnits", "userSpaceOnUse")
            .set("patternTransform", "rotate(45)")
            .add(rectangle(0, 0, 70, 70, ground))
            .add(line((0, 0), (0, 70), stroke).set("stroke-width", 5))
    };
    Definitions::new().add(pattern("down", "#eaeef2", "#c3cad2")).add(pattern("seek", "#fff4e5", "#f3c68b"))
}

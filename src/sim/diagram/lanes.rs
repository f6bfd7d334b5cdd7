//! Lanes: bands, arrows, marks, faults, and the axis above and below them.

use std::{collections::BTreeMap, fmt::Write as _};

use svg::node::element::Group;

use super::{
    LABELS, LEFT, Layout,
    axis::Axis,
    scene::{Arrow, FaultSpan, Mark, Scene, Sign},
    style::{self, MessageClass},
    svg_shapes::{circle, cross, hint, line, path, px, rectangle, text, text_width},
};
use crate::sim::trace::RoundRole;

/// Half the height of a band.
const BAND: i64 = 95;
/// Radius of a head mark.
const HEAD: i64 = 85;

pub(super) fn draw(picture: Group, scene: &Scene, layout: &Layout) -> Group {
    let picture = shades(picture, scene, layout);
    let picture = lines(picture, scene, layout);
    let picture = time(picture, layout);
    let picture = shade_labels(picture, scene, layout);
    let picture = bands(picture, scene, layout);
    let picture = arrows(picture, scene, layout);
    let picture = band_texts(picture, scene, layout);
    let picture = marks(picture, scene, layout);
    violations(picture, scene, layout)
}

/// Draws the lanes with their names.
fn lines(mut picture: Group, scene: &Scene, layout: &Layout) -> Group {
    for (name, replica) in scene.names.iter().zip(0..) {
        let y = layout.y(replica);
        picture = picture.add(line((LEFT, y), (layout.right(), y), "#afb8c1"));
        picture = picture.add(text(LEFT - 140, y + 45, "n e", name));
    }
    picture
}

/// Draws cuts, ticks and their times.
fn time(mut picture: Group, layout: &Layout) -> Group {
    let (top, bottom) = (layout.top - 60, layout.bottom() + 20);
    let mut last = LEFT - 300;
    for stretch in layout.axis.stretches() {
        let (left, right) = (LEFT + stretch.left, LEFT + stretch.left + stretch.width);
        if stretch.is_cut {
            let cut = rectangle(left, top, stretch.width, bottom - top, "#f6f8fa");
            picture = picture.add(cut.add(hint(&format!("{} cut out", style::millis(stretch.until - stretch.from)))));
            for x in [left, right] {
                picture = picture.add(line((x, top), (x, bottom), "#d0d7de").set("stroke-dasharray", "2 3"));
            }
            let middle = (left + right) / 2;
            // In the gap of the axis, above the times.
            picture = picture.add(text(middle, bottom + 35, "s g m", "⋯"));
            continue;
        }
        picture = picture.add(line((left, bottom), (right, bottom), "#57606a"));
        for at in ticks(stretch.from, stretch.until, stretch.width) {
            let x = layout.x(at);
            picture = picture.add(line((x, bottom), (x, bottom + 50), "#57606a"));
            let label = style::grouped(at / 1_000_000);
            if x - last > text_width(&label) + 120 {
                picture = picture.add(text(x, bottom + 180, "s g m", &label));
                last = x;
            }
        }
    }
    picture.add(text(LEFT - 140, bottom + 180, "s g e", "time in ms"))
}

/// Returns round times, about one every 90 pixels.
fn ticks(from: u64, until: u64, width: i64) -> Vec<u64> {
    let wanted = (width / 900).max(1).unsigned_abs();
    let span = (until - from).max(1);
    let mut step: u64 = 1_000_000;
    for factor in [2, 5, 2].into_iter().cycle().take(40) {
        if span / step <= wanted {
            break;
        }
        // 1, 2, 10, 20, 100 and so on, with the fives between: 2 x 5 x 2 x 2 would leave round numbers.
        step = if factor == 5 { step / 2 * 5 } else { step.saturating_mul(2) };
    }
    let first = from.div_ceil(step) * step;
    let mut times = Vec::new();
    let mut at = first;
    while at <= until && times.len() < 200 {
        times.push(at);
        at = at.saturating_add(step);
    }
    times
}

fn bands(mut picture: Group, scene: &Scene, layout: &Layout) -> Group {
    for band in &scene.bands {
        let (left, right) = (layout.x(band.from), layout.x(band.until));
        let y = layout.y(band.replica);
        let (leads, follows, ink) = style::band(band.status.round);
        let fill = match band.status.role {
            RoundRole::Leader => leads,
            RoundRole::Follower => follows,
            RoundRole::Seeking => "url(#seek)",
        };
        let words = band.text(scene.round_name);
        let shape = rectangle(left, y - BAND, right - left, 2 * BAND, fill).set("rx", 3).add(hint(&words));
        picture = picture.add(shape);
        if band.status.role == RoundRole::Leader {
            let edge = rectangle(left, y - BAND, right - left, 2 * BAND, "none").set("rx", 3);
            picture = picture.add(edge.set("stroke", ink).set("stroke-width", "1.4"));
        }
    }
    picture
}

/// Draws the label of each band at its left end, or as a tooltip where there is no room.
fn band_texts(mut picture: Group, scene: &Scene, layout: &Layout) -> Group {
    for band in &scene.bands {
        let (left, right) = (layout.x(band.from), layout.x(band.until));
        let words = band.text(scene.round_name);
        if right - left >= text_width(&words) + 60 {
            let (_, _, ink) = style::band(band.status.round);
            let label = text(left + 30, layout.y(band.replica) - BAND - 35, "s h", &words);
            picture = picture.add(label.set("style", format!("fill:{ink}")));
        }
    }
    picture
}

fn arrows(mut picture: Group, scene: &Scene, layout: &Layout) -> Group {
    for kind in MessageClass::ALL {
        let (mut shafts, mut heads) = (String::new(), String::new());
        for arrow in scene.arrows.iter().filter(|arrow| arrow.kind == kind && arrow.from != arrow.to) {
            if kind == MessageClass::Noise && layout.axis.is_cut(arrow.sent) {
                continue;
            }
            draw_arrow(arrow, layout, &mut shafts, &mut heads);
        }
        if !shafts.is_empty() {
            picture = picture.add(path(&shafts, kind.class()));
        }
        if !heads.is_empty() {
            picture = picture.add(path(&heads, &format!("{}h", kind.class())));
        }
    }
    let mut crosses = String::new();
    for arrow in scene.arrows.iter().filter(|arrow| arrow.is_lost && arrow.kind != MessageClass::Noise) {
        let (_, end) = ends(arrow, layout);
        crosses.push_str(&cross(end.0, end.1, 30));
    }
    if !crosses.is_empty() {
        let lost = path(&crosses, "").set("stroke", "#cf222e").set("stroke-width", "1.5").set("fill", "none");
        picture = picture.add(lost);
    }
    picture
}

/// Returns the ends of an arrow: at the edges of the bands; a lost one ends a third of the way, one still on its link a
/// quarter.
fn ends(arrow: &Arrow, layout: &Layout) -> ((i64, i64), (i64, i64)) {
    let down = if arrow.to > arrow.from { 1 } else { -1 };
    let start = (layout.x(arrow.sent), layout.y(arrow.from) + down * BAND);
    // One that does not arrive is drawn as if it took 12 pixels.
    let arrives = arrow.arrives.map_or(start.0 + 120, |at| layout.x(at));
    let end = (arrives, layout.y(arrow.to) - down * BAND);
    match (arrow.is_lost, arrow.arrives) {
        (true, None) => (start, ((start.0 * 2 + end.0) / 3, (start.1 * 2 + end.1) / 3)),
        (false, None) => (start, ((start.0 * 3 + end.0) / 4, (start.1 * 3 + end.1) / 4)),
        _ => (start, end),
    }
}

fn draw_arrow(arrow: &Arrow, layout: &Layout, shafts: &mut String, heads: &mut String) {
    let (start, end) = ends(arrow, layout);
    let _ = write!(shafts, "M{} {}L{} {}", px(start.0), px(start.1), px(end.0), px(end.1));
    if arrow.is_lost || arrow.arrives.is_none() || arrow.kind == MessageClass::Noise {
        return;
    }
    let (run, rise) = (end.0 - start.0, end.1 - start.1);
    let length = i64::try_from((run * run + rise * rise).unsigned_abs().isqrt()).unwrap_or(i64::MAX).max(1);
    // A head of 6 by 5 pixels.
    let base = (end.0 - run * 60 / length, end.1 - rise * 60 / length);
    let side = (-rise * 25 / length, run * 25 / length);
    let corner = |sign: i64| (base.0 + sign * side.0, base.1 + sign * side.1);
    let ((ax, ay), (bx, by)) = (corner(1), corner(-1));
    let _ = write!(heads, "M{} {}L{} {}L{} {}Z", px(end.0), px(end.1), px(ax), px(ay), px(bx), px(by));
}

fn marks(mut picture: Group, scene: &Scene, layout: &Layout) -> Group {
    // Marks that would overlap are put side by side.
    let mut taken: BTreeMap<u32, i64> = BTreeMap::new();
    let mut sorted: Vec<_> = scene.marks.iter().collect();
    sorted.sort_by_key(|mark| (mark.at, mark.replica));
    for mark in sorted {
        let wanted = layout.x(mark.at);
        let x = match (&mark.what, taken.get(&mark.replica)) {
            (Sign::Crash | Sign::Restart, _) | (_, None) => wanted,
            (_, Some(last)) => wanted.max(last + 2 * HEAD + 10),
        };
        taken.insert(mark.replica, x);
        picture = draw_mark(picture, mark, (x, layout.y(mark.replica)));
    }
    picture
}

fn draw_mark(picture: Group, mark: &Mark, (x, y): (i64, i64)) -> Group {
    let numbered =
        |picture: Group, height: u64, class: &str| picture.add(text(x, y + 35, class, &(height % 1_000).to_string()));
    match &mark.what {
        Sign::Made(height) => {
            let square = rectangle(x - 80, y - 80, 160, 160, "#1f6feb").set("rx", 2).set("stroke", "#ffffff");
            numbered(picture.add(square.add(hint(&format!("makes block {height}")))), *height, "w m")
        }
        Sign::Head { height, reorg: 0 } => {
            let ring = circle(x, y, HEAD, "#ffffff").set("stroke", "#1f6feb").set("stroke-width", "1.6");
            numbered(picture.add(ring.add(hint(&format!("head at {height}")))), *height, "s m")
        }
        Sign::Head { height, reorg } => {
            let ring = circle(x, y, HEAD, "#ffffff").set("stroke", "#cf222e").set("stroke-width", "2.4");
            let words = format!("reorg: {reorg} blocks taken back, head at {height}");
            let picture = numbered(picture.add(ring.add(hint(&words))), *height, "s m");
            picture.add(text(x, y - HEAD - 45, "s h r m", &format!("↶{reorg}")))
        }
        Sign::Final(height) => {
            let disc = circle(x, y, HEAD, "#1a7f37").set("stroke", "#ffffff");
            numbered(picture.add(disc.add(hint(&format!("final up to {height}")))), *height, "w m")
        }
        Sign::Justified(height) => {
            let (left, right, top, bottom) = (px(x - 95), px(x + 95), px(y - 95), px(y + 95));
            let shape = format!("M{left} {}L{} {top}L{right} {}L{} {bottom}Z", px(y), px(x), px(y), px(x));
            let diamond = path(&shape, "").set("fill", "#8250df").set("stroke", "#ffffff");
            numbered(picture.add(diamond.add(hint(&format!("justified: {height}")))), *height, "w m")
        }
        Sign::Timeout => {
            let face = circle(x, y, HEAD, "#fff1e0").set("stroke", "#d9730d").set("stroke-width", "1.6");
            let hands = format!("M{0} {1}L{0} {2}L{3} {2}", px(x), px(y - 55), px(y), px(x + 40));
            let hands = path(&hands, "").set("stroke", "#d9730d").set("stroke-width", "1.6").set("fill", "none");
            picture.add(face.add(hint("timeout"))).add(hands)
        }
        Sign::Evidence => {
            let disc = circle(x, y, HEAD, "#cf222e").set("stroke", "#ffffff");
            picture.add(disc.add(hint("evidence"))).add(text(x, y + 40, "w m", "!"))
        }
        Sign::Crash => {
            let shape = cross(x, y, 75);
            picture.add(path(&shape, "").set("stroke", "#cf222e").set("stroke-width", "2.6").set("fill", "none"))
        }
        Sign::Restart => {
            let shape = format!("M{0} {1}L{2} {3}L{0} {4}Z", px(x - 50), px(y - 75), px(x + 70), px(y), px(y + 75));
            picture.add(path(&shape, "").set("fill", "#1a7f37").set("stroke", "#ffffff"))
        }
    }
}

/// Returns the label of a shade.
fn words_of(shade: &FaultSpan) -> &str {
    if shade.text.is_empty() { &shade.kind } else { &shade.text }
}

/// Returns for each fault of the network the row of its label, from below, and whether the label ends where the fault begins: labels that
/// would overlap have different rows, and none exceeds the picture.
pub(super) fn label_rows(scene: &Scene, axis: &Axis, right: i64) -> Vec<(usize, bool)> {
    let mut ends: Vec<i64> = Vec::new();
    let of_network = scene.shades.iter().filter(|shade| shade.replicas.is_empty());
    let row_of = |shade: &FaultSpan| {
        let (x, width) = (LEFT + axis.offset(shade.from), text_width(words_of(shade)));
        let is_left = x + width > right && x - width > LEFT;
        let from = if is_left { x - width } else { x };
        let row = ends.iter().position(|end| *end < from).unwrap_or(ends.len());
        if row == ends.len() {
            ends.push(0);
        }
        ends[row] = from + width;
        (row, is_left)
    };
    of_network.map(row_of).collect()
}

/// Draws faults: of one replica over its lane, of the network over all of them.
fn shades(mut picture: Group, scene: &Scene, layout: &Layout) -> Group {
    let mut rows = label_rows(scene, &layout.axis, layout.right()).into_iter();
    for shade in &scene.shades {
        let (left, right) = (layout.x(shade.from), layout.x(shade.until).max(layout.x(shade.from) + 10));
        let words = words_of(shade);
        if shade.replicas.is_empty() {
            let (top, height) = (layout.top - 60, layout.bottom() - layout.top + 80);
            let fill = if shade.kind == "note" { "none" } else { "#fff8c5" };
            picture = picture.add(rectangle(left, top, right - left, height, fill).set("opacity", "0.75"));
            for x in [left, right] {
                picture = picture.add(line((x, top), (x, top + height), "#d4a72c").set("stroke-dasharray", "5 3"));
            }
            let (row, is_left) = rows.next().unwrap_or_default();
            let y = layout.top - 90 - LABELS * row as i64;
            let (x, class) = if is_left { (left - 20, "s h o e") } else { (left + 20, "s h o") };
            picture = picture.add(text(x, y, class, words));
            continue;
        }
        for replica in &shade.replicas {
            picture = lane_shade(picture, shade, words, (left, right, layout.y(*replica)), layout.lane);
        }
    }
    picture
}

fn lane_shade(picture: Group, shade: &FaultSpan, words: &str, (left, right, y): (i64, i64, i64), lane: i64) -> Group {
    let half = shade_half(lane);
    let fill = match shade.kind.as_str() {
        "crash" => "url(#down)",
        "pause" => "#eaeef2",
        "isolate" | "one-way" | "clock" | "disk" | "note" => "#fff8c5",
        _ => "#ffe3e3",
    };
    let shape = rectangle(left, y - half, right - left, 2 * half, fill).set("rx", 4).add(hint(words));
    picture.add(shape)
}

/// Draws the label of a fault of one replica, at the lower left of its shade and above the cuts.
fn shade_labels(mut picture: Group, scene: &Scene, layout: &Layout) -> Group {
    for shade in &scene.shades {
        let class = match shade.kind.as_str() {
            "crash" | "pause" => "s h g",
            "isolate" | "one-way" | "clock" | "disk" | "note" => "s h o",
            _ => "s h r",
        };
        let words = words_of(shade);
        for replica in &shade.replicas {
            let y = layout.y(*replica) + shade_half(layout.lane) - 30;
            picture = picture.add(text(layout.x(shade.from) + 60, y, class, words));
        }
    }
    picture
}

/// Half the height of a replica's shade.
fn shade_half(lane: i64) -> i64 {
    (lane / 2 - 40).min(230)
}

fn violations(mut picture: Group, scene: &Scene, layout: &Layout) -> Group {
    let rows = label_rows(scene, &layout.axis, layout.right()).iter().map(|(row, _)| row + 1).max().unwrap_or(0);
    let y = layout.top - 90 - LABELS * rows as i64;
    for (at, words) in &scene.violations {
        let x = layout.x(*at);
        picture = picture.add(line((x, layout.top - 60), (x, layout.bottom()), "#cf222e").set("stroke-width", "2"));
        let words: String = format!("✗ {words}").chars().take(110).collect();
        let is_right = x + text_width(&words) > layout.right();
        picture = picture.add(text(x, y, if is_right { "s h r e" } else { "s h r" }, &words));
    }
    picture
}

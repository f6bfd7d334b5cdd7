//! Lanes: bands, arrows, marks, faults, and the axis above and below them.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    LABELS, LEFT, Layout,
    axis::Axis,
    blocks::RIVAL,
    canvas::{Canvas, cut, text_width},
    scene::{Arrow, FaultSpan, Mark, Scene, Sign},
    style::{self, MessageClass},
    svg_shapes::{circle, cross, hint, line, path, px, rectangle},
    violations,
};
use crate::sim::trace::RoundRole;

/// Half the height of a band.
pub(super) const BAND: i64 = 95;
/// Width of a mark without room for its shape.
pub(super) const TICK: i64 = 20;
/// Class of the labels of faults, and height of a row of them in a lane.
const SHADE_CLASS: &str = "s h o";
const ROW: i64 = 115;
/// Radius of a head mark.
const HEAD: i64 = 85;
/// Half the width and half the height of a diamond, with room for two digits.
const DIAMOND: (i64, i64) = (110, 140);
/// Half the size of the cross of a lost message.
const LOST: i64 = 30;
/// Colour of evidence, which is not that of violations.
pub(super) const EVIDENCE: &str = "#9a3412";

pub(super) fn draw(picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
    let picture = shades(picture, scene, layout);
    let picture = lines(picture, scene, layout);
    let picture = time(picture, layout);
    let picture = bands(picture, scene, layout);
    let picture = arrows(picture, scene, layout);
    let picture = violations::draw_lines(picture, scene, layout);
    let picture = shade_labels(picture, scene, layout);
    let picture = band_texts(picture, scene, layout);
    let picture = marks(picture, scene, layout);
    violations::draw_numbers(picture, scene, layout)
}

/// Draws the lanes with their names.
fn lines(mut picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
    for (name, replica) in scene.names.iter().zip(0..) {
        let y = layout.y(replica);
        picture = picture.add(line((LEFT, y), (layout.right(), y), "#afb8c1"));
        picture = picture.write("n e", &cut(name, "n e", LEFT - 200), &[(LEFT - 140, y + 45)]);
    }
    picture
}

/// Draws cuts, ticks and their times.
fn time(mut picture: Canvas, layout: &Layout) -> Canvas {
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
            picture = picture.write("s g m", "⋯", &[(middle, bottom + 35)]);
            continue;
        }
        picture = picture.add(line((left, bottom), (right, bottom), "#57606a"));
        for at in ticks(stretch.from, stretch.until, stretch.width) {
            let x = layout.x(at);
            picture = picture.add(line((x, bottom), (x, bottom + 50), "#57606a"));
            let label = style::grouped(at / 1_000_000);
            if x - last > text_width(&label, "s g m") + 120 {
                picture = picture.write("s g m", &label, &[(x, bottom + 180)]);
                last = x;
            }
        }
    }
    picture.write("s g e", "time in ms", &[(LEFT - 140, bottom + 180)])
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

fn bands(mut picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
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
fn band_texts(mut picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
    for band in &scene.bands {
        let (left, right) = (layout.x(band.from), layout.x(band.until));
        let words = band.text(scene.round_name);
        if right - left >= text_width(&words, "s h") + 60 {
            let (_, _, ink) = style::band(band.status.round);
            let place = (left + 30, layout.y(band.replica) - BAND - 35);
            picture = picture.write_in("s h", Some(ink), &words, &[place]);
        }
    }
    picture
}

fn arrows(mut picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
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
        crosses.push_str(&cross(end.0, end.1, LOST));
    }
    if !crosses.is_empty() {
        let lost = path(&crosses, "").set("stroke", "#cf222e").set("stroke-width", "1.5").set("fill", "none");
        picture = picture.add(lost);
    }
    picture
}

/// Returns the ends of an arrow: at the edges of the bands; a lost one ends before the next lane, whose marks a cross would be taken for,
/// and one still on its link after a quarter of the way.
fn ends(arrow: &Arrow, layout: &Layout) -> ((i64, i64), (i64, i64)) {
    let down = if arrow.to > arrow.from { 1 } else { -1 };
    let start = (layout.x(arrow.sent), layout.y(arrow.from) + down * BAND);
    // One that does not arrive is drawn as if it took 12 pixels.
    let arrives = arrow.arrives.map_or(start.0 + 120, |at| layout.x(at));
    let end = (arrives, layout.y(arrow.to) - down * BAND);
    match (arrow.is_lost, arrow.arrives) {
        (true, None) => {
            let far = i64::from(arrow.to.abs_diff(arrow.from));
            let rise = (layout.lane - 2 * BAND) * (150 + 150 * far).min(750) / 1_000;
            (start, ((start.0 * 2 + end.0) / 3, start.1 + down * rise))
        }
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

/// Draws marks at their times.
fn marks(mut picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
    let places = mark_places(scene, layout);
    // Below the shapes that take their room.
    for (mark, _) in places.iter().filter(|(_, place)| place.is_none()) {
        let ((words, colour), y) = (told(&mark.what), layout.y(mark.replica));
        let tick = rectangle(layout.x(mark.at) - TICK / 2, y - BAND - 20, TICK, 2 * BAND + 40, colour);
        picture = picture.add(tick.add(hint(&words)));
    }
    for (mark, place) in places {
        if let Some(x) = place {
            picture = draw_mark(picture, mark, scene.is_rival(mark), (x, layout.y(mark.replica)));
        }
    }
    picture
}

/// Returns whether a mark has no room for its shape.
pub(super) fn has_ticks(scene: &Scene, layout: &Layout) -> bool {
    mark_places(scene, layout).iter().any(|(_, place)| place.is_none())
}

/// Returns the marks in order of time with their places: at its time or beside those that would cover it, at most by its own width, to the
/// right if there is room, else to the left; a mark without such a place has none.
fn mark_places<'a>(scene: &'a Scene, layout: &Layout) -> Vec<(&'a Mark, Option<i64>)> {
    let mut marks: Vec<(&Mark, Option<i64>)> = scene.marks.iter().map(|mark| (mark, None)).collect();
    marks.sort_by_key(|(mark, _)| (mark.at, mark.replica));
    let mut taken: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    // What is rare and matters has its place first.
    for pass in 0..=2 {
        for (mark, place) in marks.iter_mut().filter(|(mark, _)| rank(&mark.what) == pass) {
            let (wanted, half) = (layout.x(mark.at), half_width(&mark.what));
            let taken = taken.entry(mark.replica).or_default();
            let is_near = |x: &i64| {
                let is_inside = *x - half >= LEFT && *x + half <= layout.width - 60;
                is_inside && (*x - wanted).abs() <= 2 * half
            };
            let beside = |is_right: bool| {
                let mut x = wanted;
                while let Some((left, right)) = taken.iter().find(|(left, right)| x - half < *right && *left < x + half)
                {
                    x = if is_right { right + half } else { left - half };
                }
                Some(x).filter(is_near)
            };
            // A restart is beside its crash, however soon it follows.
            let near = || beside(true).or_else(|| beside(false));
            *place = if pass == 0 { near().or(Some(wanted)) } else { near() };
            taken.extend(place.map(|x| (x - half, x + half)));
        }
    }
    marks
}

const fn rank(sign: &Sign) -> u8 {
    match sign {
        Sign::Crash | Sign::Restart => 0,
        Sign::Evidence | Sign::Head { reorg: 1.., .. } => 1,
        _ => 2,
    }
}

/// Half the room that a mark takes, with its number.
const fn half_width(sign: &Sign) -> i64 {
    match sign {
        Sign::Made(100..) | Sign::Head { height: 100.., .. } | Sign::Final(100..) | Sign::Justified(100..) => 115,
        _ => HEAD + 5,
    }
}

/// Returns a mark in words, and its colour.
fn told(sign: &Sign) -> (String, &'static str) {
    match sign {
        Sign::Made(height) => (format!("makes block {height}"), "#1f6feb"),
        Sign::Head { height, reorg: 0 } => (format!("head at {height}"), "#1f6feb"),
        Sign::Head { height, reorg } => (format!("reorg: {reorg} blocks taken back, head at {height}"), "#cf222e"),
        Sign::Final(height) => (format!("final up to {height}"), "#1a7f37"),
        Sign::Justified(height) => (format!("justified: {height}"), "#8250df"),
        Sign::Timeout => ("timeout".to_owned(), "#d9730d"),
        Sign::Evidence => ("evidence".to_owned(), EVIDENCE),
        Sign::Crash => ("crashes".to_owned(), "#cf222e"),
        Sign::Restart => ("restarts".to_owned(), "#1a7f37"),
    }
}

fn draw_mark(picture: Canvas, mark: &Mark, is_rival: bool, (x, y): (i64, i64)) -> Canvas {
    let (words, _) = told(&mark.what);
    let numbered =
        |picture: Canvas, height: u64, class: &str| picture.write(class, &(height % 1_000).to_string(), &[(x, y + 35)]);
    match &mark.what {
        Sign::Made(height) => {
            let square = rectangle(x - 80, y - 80, 160, 160, "#1f6feb").set("rx", 2).set("stroke", "#ffffff");
            numbered(picture.add(square.add(hint(&words))), *height, "w m")
        }
        Sign::Head { height, reorg: 0 } => {
            let ring = circle(x, y, HEAD, "#ffffff").set("stroke", "#1f6feb").set("stroke-width", "1.6");
            numbered(picture.add(ring.add(hint(&words))), *height, "s m")
        }
        Sign::Head { height, reorg } => {
            let ring = circle(x, y, HEAD, "#ffffff").set("stroke", "#cf222e").set("stroke-width", "2.4");
            let picture = numbered(picture.add(ring.add(hint(&words))), *height, "s m");
            picture.write("s h r m", &format!("↶{reorg}"), &[(x, y - HEAD - 45), (x, y + HEAD + 110)])
        }
        Sign::Final(height) => {
            let disc = circle(x, y, HEAD, if is_rival { RIVAL } else { "#1a7f37" }).set("stroke", "#ffffff");
            numbered(picture.add(disc.add(hint(&words))), *height, "w m")
        }
        Sign::Justified(height) => {
            let (left, right, top, bottom) =
                (px(x - DIAMOND.0), px(x + DIAMOND.0), px(y - DIAMOND.1), px(y + DIAMOND.1));
            let shape = format!("M{left} {}L{} {top}L{right} {}L{} {bottom}Z", px(y), px(x), px(y), px(x));
            let diamond = path(&shape, "").set("fill", "#8250df").set("stroke", "#ffffff");
            numbered(picture.add(diamond.add(hint(&words))), *height, "w m")
        }
        Sign::Timeout => {
            let face = circle(x, y, HEAD, "#fff1e0").set("stroke", "#d9730d").set("stroke-width", "1.6");
            let hands = format!("M{0} {1}L{0} {2}L{3} {2}", px(x), px(y - 55), px(y), px(x + 40));
            let hands = path(&hands, "").set("stroke", "#d9730d").set("stroke-width", "1.6").set("fill", "none");
            picture.add(face.add(hint(&words))).add(hands)
        }
        Sign::Evidence => {
            let disc = circle(x, y, HEAD, EVIDENCE).set("stroke", "#ffffff");
            picture.add(disc.add(hint(&words))).write("w m", "!", &[(x, y + 40)])
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

/// Returns for each fault of the network the row of its label, from below, and the label's left end: labels that would overlap have
/// different rows, and none exceeds the picture.
pub(super) fn label_rows(scene: &Scene, axis: &Axis, width: i64) -> Vec<(usize, i64)> {
    let mut ends: Vec<i64> = Vec::new();
    let of_network = scene.shades.iter().filter(|shade| shade.replicas.is_empty());
    let row_of = |shade: &FaultSpan| {
        let (left, words) = label_of(shade, LEFT + axis.offset(shade.from) + 20, width);
        let row = ends.iter().position(|end| *end < left).unwrap_or(ends.len());
        if row == ends.len() {
            ends.push(0);
        }
        ends[row] = left + text_width(&words, SHADE_CLASS) + 40;
        (row, left)
    };
    of_network.map(row_of).collect()
}

/// Returns the left end of a shade's label, moved left so that it is within the frame, and as much of it as there is room for.
fn label_of(shade: &FaultSpan, left: i64, width: i64) -> (i64, String) {
    let right = width - 60;
    let words = cut(words_of(shade), SHADE_CLASS, right - LEFT);
    (left.min(right - text_width(&words, SHADE_CLASS)), words)
}

/// Draws faults: of one replica over its lane, of the network over all of them.
fn shades(mut picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
    let mut rows = label_rows(scene, &layout.axis, layout.width).into_iter();
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
            let (row, x) = rows.next().unwrap_or_default();
            let (_, words) = label_of(shade, x, layout.width);
            picture = picture.write(SHADE_CLASS, &words, &[(x, layout.top - 90 - LABELS * row as i64)]);
            continue;
        }
        for replica in &shade.replicas {
            picture = lane_shade(picture, shade, words, (left, right, layout.y(*replica)), layout.lane);
        }
    }
    picture
}

fn lane_shade(picture: Canvas, shade: &FaultSpan, words: &str, (left, right, y): (i64, i64, i64), lane: i64) -> Canvas {
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
fn shade_labels(mut picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
    let violations = violations::moments(scene, layout);
    for shade in &scene.shades {
        let class = match shade.kind.as_str() {
            "crash" | "pause" => "s h g",
            "isolate" | "one-way" | "clock" | "disk" | "note" => "s h o",
            _ => "s h r",
        };
        let (x, words) = label_of(shade, layout.x(shade.from) + 60, layout.width);
        // Not across the line of a violation.
        let long = text_width(&words, class);
        let crossed = violations.iter().copied().find(|line| x - 20 < *line && *line < x + long + 20);
        let x =
            crossed.map_or(x, |line| if line + 40 + long < layout.width - 60 { line + 40 } else { line - 40 - long });
        for replica in &shade.replicas {
            // At the lower left of the shade; below or above it where another label is.
            let y = layout.y(*replica) + shade_half(layout.lane) - 30;
            let below = [0, 1, 2].map(|row| (x, y + row * ROW));
            let above = [0, 1].map(|row| (x, y - 2 * shade_half(layout.lane) - row * ROW));
            picture = picture.write(class, &words, &[below, [above[0], above[1], above[1]]].concat());
        }
    }
    picture
}

/// Half the height of a replica's shade.
fn shade_half(lane: i64) -> i64 {
    (lane / 2 - 40).min(230)
}

#[cfg(all(test, feature = "scenarios"))]
mod tests {
    use super::*;

    #[test]
    fn no_mark_is_off_its_time_by_more_than_its_own_width() {
        let (mut shapes, mut shifted, mut ticks) = (0, 0, 0);
        for scenario in crate::sim::scenario::all().filter(|scenario| scenario.sizes().is_some()) {
            let trace = scenario.play(&Default::default(), &mut |_| {}).unwrap().trace().unwrap();
            let scene = Scene::of(&trace, None);
            let width = 14_000;
            let axis = Axis::new(&scene.busy(), None, scene.from, scene.until, width - 2 * LEFT);
            let layout = Layout { axis, width, top: 0, lane: 700, lanes: scene.names.len() as i64 };
            for (mark, place) in mark_places(&scene, &layout) {
                let Some(x) = place else {
                    ticks += 1;
                    continue;
                };
                let off = (x - layout.x(mark.at)).abs();
                assert!(off <= 2 * half_width(&mark.what), "{}: {mark:?} is off by {off}", scenario.name);
                assert!(x < layout.width, "{}: {mark:?} is outside", scenario.name);
                shapes += 1;
                shifted += u32::from(off > 0);
            }
        }
        // Dense runs have some of each.
        assert!(shapes > 1_000 && shifted > 100 && ticks > 100, "{shapes}, {shifted}, {ticks}");
    }
}

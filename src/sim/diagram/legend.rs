//! Legend of the colours and marks that occur in the picture.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    LEFT, Layout,
    blocks::RIVAL,
    canvas::{Canvas, cut, text_width},
    lanes,
    scene::{Scene, Sign},
    style::{MessageClass, band, short},
    svg_shapes::{circle, cross, line, path, px, rectangle},
    violations,
};
use crate::sim::trace::RoundRole;

const ROW: i64 = 210;
/// Columns in which items begin.
const COLUMNS: i64 = 7;

/// Draws below `top`; returns the height of the picture.
pub(super) fn draw(picture: Canvas, scene: &Scene, layout: &Layout, top: i64) -> (Canvas, i64) {
    let mut pen = Pen { picture, x: LEFT, y: top + 260, left: LEFT, right: layout.width - 250 };
    let mut labels: BTreeMap<MessageClass, BTreeSet<&str>> = BTreeMap::new();
    for arrow in &scene.arrows {
        labels.entry(arrow.kind).or_default().insert(short(&arrow.label));
    }
    pen.picture = pen.picture.write("n e", "legend", &[(LEFT - 140, pen.y + 40)]);
    for (kind, labels) in &labels {
        let words = labels.iter().copied().collect::<Vec<_>>().join(", ");
        pen.item(&words, |picture, (x, y)| {
            let stroke = line((x, y), (x + 220, y), kind.colour()).set("stroke-width", "2");
            let head =
                format!("M{} {}L{} {}L{} {}Z", px(x + 260), px(y), px(x + 190), px(y - 30), px(x + 190), px(y + 30));
            let head = path(&head, "").set("fill", kind.colour());
            if *kind == MessageClass::Noise { picture.add(stroke) } else { picture.add(stroke).add(head) }
        });
    }
    if scene.arrows.iter().any(|arrow| arrow.is_lost) {
        pen.item("lost", |picture, (x, y)| {
            let shape = path(&cross(x + 130, y, 35), "").set("stroke", "#cf222e").set("stroke-width", "1.5");
            picture.add(shape)
        });
    }
    let has = |wanted: fn(&Sign) -> bool| scene.marks.iter().any(|mark| wanted(&mark.what));
    if has(|sign| matches!(sign, Sign::Made(_))) {
        pen.item("makes a block", |picture, (x, y)| picture.add(rectangle(x + 60, y - 65, 130, 130, "#1f6feb")));
    }
    if has(|sign| matches!(sign, Sign::Head { reorg: 0, .. })) {
        pen.item("new head", |picture, (x, y)| {
            picture.add(circle(x + 130, y, 65, "#ffffff").set("stroke", "#1f6feb").set("stroke-width", "1.6"))
        });
    }
    if has(|sign| matches!(sign, Sign::Head { reorg: 1.., .. })) {
        pen.item("reorg (↶ blocks taken back)", |picture, (x, y)| {
            picture.add(circle(x + 130, y, 65, "#ffffff").set("stroke", "#cf222e").set("stroke-width", "2.4"))
        });
    }
    if has(|sign| matches!(sign, Sign::Justified(_))) {
        pen.item("justified", |picture, (x, y)| {
            let shape = format!(
                "M{} {y0}L{mid} {}L{} {y0}L{mid} {}Z",
                px(x + 55),
                px(y - 75),
                px(x + 205),
                px(y + 75),
                y0 = px(y),
                mid = px(x + 130)
            );
            picture.add(path(&shape, "").set("fill", "#8250df"))
        });
    }
    if has(|sign| matches!(sign, Sign::Final(_))) {
        pen.item("final", |picture, (x, y)| picture.add(circle(x + 130, y, 65, "#1a7f37")));
    }
    if has(|sign| *sign == Sign::Timeout) {
        pen.item("timeout", |picture, (x, y)| {
            let face = circle(x + 130, y, 65, "#fff1e0").set("stroke", "#d9730d").set("stroke-width", "1.6");
            let hands = format!("M{0} {1}L{0} {2}L{3} {2}", px(x + 130), px(y - 40), px(y), px(x + 165));
            picture.add(face).add(path(&hands, "").set("stroke", "#d9730d").set("fill", "none"))
        });
    }
    if has(|sign| *sign == Sign::Evidence) {
        pen.item("evidence", |picture, (x, y)| {
            picture.add(circle(x + 130, y, 65, lanes::EVIDENCE)).write("w m", "!", &[(x + 130, y + 38)])
        });
    }
    if has(|sign| *sign == Sign::Crash) {
        pen.item("crashes", |picture, (x, y)| {
            let shape = path(&cross(x + 130, y, 60), "").set("stroke", "#cf222e").set("stroke-width", "2.6");
            picture.add(shape)
        });
    }
    if has(|sign| *sign == Sign::Restart) {
        pen.item("restarts", |picture, (x, y)| {
            let (left, right) = (px(x + 90), px(x + 190));
            let shape = format!("M{left} {}L{right} {}L{left} {}Z", px(y - 65), px(y), px(y + 65));
            picture.add(path(&shape, "").set("fill", "#1a7f37"))
        });
    }
    pen = states(pen, scene, layout);
    if scene.nodes.iter().any(|node| !node.is_main()) {
        pen.item("block left behind", |picture, (x, y)| {
            let shape = rectangle(x + 20, y - 65, 210, 130, "#ffebe9").set("rx", 3).set("stroke", "#cf222e");
            picture.add(shape.set("stroke-dasharray", "4 2"))
        });
    }
    if scene.nodes.iter().any(|node| node.is_rival) {
        pen.item("final in conflict", |picture, (x, y)| {
            picture.add(rectangle(x + 20, y - 65, 210, 130, RIVAL).set("rx", 3).set("stroke", RIVAL))
        });
    }
    if !scene.violations.is_empty() {
        pen.item("invariant violated", |picture, (x, y)| {
            let moment = line((x + 130, y - 95), (x + 130, y + 95), violations::RED).set("stroke-width", "2");
            picture.add(moment).add(circle(x + 130, y, 65, violations::RED)).write("w m", "1", &[(x + 130, y + 35)])
        });
    }
    if lanes::has_ticks(scene, layout) {
        pen.item("mark without room", |picture, (x, y)| {
            picture.add(rectangle(x + 120, y - lanes::BAND, lanes::TICK, 2 * lanes::BAND, "#57606a"))
        });
    }
    let height = pen.y + 300;
    (pen.picture, height)
}

/// Items of bands, outages and cuts.
fn states(mut pen: Pen, scene: &Scene, layout: &Layout) -> Pen {
    let patch = |picture: Canvas, (x, y): (i64, i64), fill: &str| {
        picture.add(rectangle(x + 20, y - 65, 210, 130, fill).set("rx", 3))
    };
    let has = |role| scene.bands.iter().any(|band| band.status.role == role);
    if has(RoundRole::Leader) {
        let (leads, _, ink) = band(0);
        pen.item("leads (dark)", |picture, (x, y)| {
            let shape = rectangle(x + 20, y - 65, 210, 130, leads).set("rx", 3).set("stroke", ink);
            picture.add(shape.set("stroke-width", "1.4"))
        });
    }
    if has(RoundRole::Seeking) {
        let words = if scene.round_name == "view" { "changes the view" } else { "has no leader" };
        pen.item(words, |picture, at| patch(picture, at, "url(#seek)"));
    }
    if scene.shades.iter().any(|shade| shade.kind == "crash") {
        pen.item("down", |picture, at| patch(picture, at, "url(#down)"));
    }
    if layout.axis.stretches().iter().any(|stretch| stretch.is_cut) {
        pen.item("⋯ idle time cut out", |picture, (x, y)| {
            let shape = rectangle(x + 20, y - 65, 210, 130, "#f6f8fa").set("stroke", "#d0d7de");
            picture.add(shape.set("stroke-dasharray", "2 3"))
        });
    }
    pen
}

/// Arranges items in rows, in columns of one width; a long item takes several.
struct Pen {
    picture: Canvas,
    x: i64,
    y: i64,
    left: i64,
    right: i64,
}

impl Pen {
    fn item(&mut self, words: &str, draw: impl FnOnce(Canvas, (i64, i64)) -> Canvas) {
        let words = cut(words, "", self.right - self.left - 330);
        let column = (self.right - self.left) / COLUMNS;
        let long = 330 + text_width(&words, "");
        let width = (long + 60 + column - 1) / column * column;
        if self.x + long > self.right && self.x > self.left {
            (self.x, self.y) = (self.left, self.y + ROW);
        }
        let picture = core::mem::replace(&mut self.picture, Canvas::new(0));
        self.picture = draw(picture, (self.x, self.y)).write("", &words, &[(self.x + 330, self.y + 42)]);
        self.x += width;
    }
}

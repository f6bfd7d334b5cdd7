//! Violations: a numbered mark on the axis each, and their texts in a box below.

use super::{
    LEFT, Layout,
    canvas::{Canvas, wrapped},
    scene::{BrokenInvariant, Scene},
    style::short_hashes,
    svg_shapes::{circle, hint, line, rectangle},
};
use crate::sim::engine::clock::SimTime;

/// Violations with a number; later ones are counted.
const LISTED_MAX: usize = 8;
/// Radius of a mark, and least distance of two.
const RADIUS: i64 = 80;
const APART: i64 = 2 * RADIUS + 15;
/// Height of a line of the box.
const ROW: i64 = 170;
pub(super) const RED: &str = "#cf222e";

/// Returns the violations that are listed, and how many others there are.
fn listed(scene: &Scene) -> (&[BrokenInvariant], usize) {
    let count = scene.violations.len().min(LISTED_MAX);
    (&scene.violations[..count], scene.violations.len() - count)
}

/// Draws each violation's moment through the lanes.
pub(super) fn draw_lines(mut picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
    for x in moments(scene, layout) {
        picture = picture.add(line((x, layout.top - 60), (x, layout.bottom() + 20), RED).set("stroke-width", "2"));
    }
    picture
}

/// Returns where the lines of the listed violations are.
pub(super) fn moments(scene: &Scene, layout: &Layout) -> Vec<i64> {
    listed(scene).0.iter().map(|violation| layout.x(violation.at)).collect()
}

/// Draws each violation's number on the axis: beside its moment where several are close.
pub(super) fn draw_numbers(mut picture: Canvas, scene: &Scene, layout: &Layout) -> Canvas {
    let (violations, _) = listed(scene);
    let y = layout.bottom() + 20;
    let mut centres: Vec<i64> = Vec::new();
    for violation in violations {
        let x = layout.x(violation.at);
        centres.push(centres.last().map_or(x, |last| x.max(last + APART)));
    }
    // Pushed back from the right end, where they would leave the frame.
    let mut limit = layout.right() + APART;
    for centre in centres.iter_mut().rev() {
        *centre = (*centre).min(limit);
        limit = *centre - APART;
    }
    for ((violation, centre), number) in violations.iter().zip(centres).zip(1..) {
        let disc = circle(centre, y, RADIUS, RED).set("stroke", "#ffffff");
        let words = format!("{} at {}: {}", violation.invariant, SimTime::from_nanos(violation.at), violation.detail);
        picture = picture.add(disc.add(hint(&words)));
        picture = picture.write("w m", &number_of(number), &[(centre, y + 35)]);
    }
    picture
}

/// Draws the texts below `top`; returns the lower end.
pub(super) fn draw_texts(mut picture: Canvas, scene: &Scene, layout: &Layout, top: i64) -> (Canvas, i64) {
    let (violations, others) = listed(scene);
    if violations.is_empty() {
        return (picture, top);
    }
    let (left, right) = (LEFT, layout.width - 250);
    let width = right - left - 500;
    let mut texts: Vec<(Option<i64>, String)> = Vec::new();
    for (violation, number) in violations.iter().zip(1..) {
        let BrokenInvariant { at, step, invariant, detail } = violation;
        let at = SimTime::from_nanos(*at);
        let text = short_hashes(&format!("{invariant} is broken at {at}, step {step}: {detail}"));
        texts.extend(wrapped(&text, "", width).into_iter().zip(0..).map(|(line, place)| {
            // The number is at the first line.
            ((place == 0).then_some(number), line)
        }));
    }
    if others > 0 {
        texts.push((None, format!("and {others} more")));
    }
    let height = texts.len() as i64 * ROW + 120;
    let top = top + 150;
    picture = picture.add(rectangle(left, top, right - left, height, "#fff5f5").set("rx", 6).set("stroke", RED));
    picture = picture.write("n e", "violations", &[(LEFT - 140, top + 190)]);
    for ((number, text), row) in texts.iter().zip(0..) {
        let y = top + 140 + row * ROW;
        if let Some(number) = number {
            picture = picture.add(circle(left + 170, y, 70, RED));
            picture = picture.write("w m", &number_of(*number), &[(left + 170, y + 35)]);
        }
        picture = picture.write("", text, &[(left + 320, y + 42)]);
    }
    (picture, top + height)
}

fn number_of(number: i64) -> String {
    number.to_string()
}

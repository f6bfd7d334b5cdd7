//! Strip of blocks below the lanes, by height, with their branches.

use std::collections::BTreeMap;

use super::{
    LEFT, Layout,
    canvas::{Canvas, text_width},
    scene::{Node, Scene},
    svg_shapes::{hint, line, rectangle},
};
use crate::primitives::B256;

/// Width and height of a block, and the least gap between two.
const WIDTH: i64 = 300;
const HEIGHT: i64 = 210;
const ROOM: i64 = 110;
const ROW: i64 = 310;
/// Branches with their own row.
const ROWS_MAX: usize = 8;
/// Most heights side by side.
const COLUMNS_MAX: u64 = 10_000;
/// Colour of a block that is final in conflict with the canonical branch.
pub(super) const RIVAL: &str = "#bf3989";

/// Draws below `top`; returns the lower end of the strip.
pub(super) fn draw(mut picture: Canvas, scene: &Scene, layout: &Layout, top: i64) -> (Canvas, i64) {
    if scene.nodes.is_empty() {
        return (picture, top);
    }
    let (places, wide) = places(scene, layout);
    let rows = places.values().map(|(_, row)| row + 1).max().unwrap_or(1) as i64;
    let middle = |row: usize| top + 160 + row as i64 * ROW + HEIGHT / 2;
    picture = picture.write("n e", "blocks", &[(LEFT - 140, middle(0) + 45)]);
    for node in &scene.nodes {
        let Some((x, row)) = places.get(&node.hash) else { continue };
        let y = middle(*row);
        let parent = places.get(&node.parent).map(|(x, row)| (x + wide, middle(*row)));
        let is_main = node.is_main();
        let colour = match (node.is_rival, is_main) {
            (true, _) => RIVAL,
            (false, true) => "#57606a",
            (false, false) => "#cf222e",
        };
        // A parent outside the window is to the left of it.
        let from = parent.unwrap_or(((x - ROOM).max(LEFT - 80), y));
        // A branch leaves its parent's row at once: a slanted line would run across other blocks.
        let bend = (from.0 + ROOM, y);
        if from.1 != y && bend.0 < *x {
            picture = picture.add(line(from, bend, colour).set("stroke-width", "1.4"));
            picture = picture.add(line(bend, (*x, y), colour).set("stroke-width", "1.4"));
        } else {
            picture = picture.add(line(from, (*x, y), colour).set("stroke-width", "1.4"));
        }
    }
    for node in &scene.nodes {
        if let Some((x, row)) = places.get(&node.hash) {
            picture = draw_block(picture, node, (*x, middle(*row)), wide);
        }
    }
    (picture, top + 160 + rows * ROW)
}

/// Returns the left edge and row of every block, and the blocks' width: at its time, but right of its parent; where they would not fit
/// within the frame, evenly by height.
fn places(scene: &Scene, layout: &Layout) -> (BTreeMap<B256, (i64, usize)>, i64) {
    let mut by_time: BTreeMap<B256, i64> = BTreeMap::new();
    for node in &scene.nodes {
        let at = (layout.x(node.at) - WIDTH / 2).max(LEFT);
        let after_parent = by_time.get(&node.parent).map_or(at, |left| left + WIDTH + ROOM);
        by_time.insert(node.hash, at.max(after_parent));
    }
    let (lefts, wide) = if by_time.values().all(|left| left + WIDTH <= layout.width - ROOM) {
        (by_time, WIDTH)
    } else {
        by_height(scene, layout)
    };

    (rows(scene, &lefts, wide), wide)
}

/// Returns the left edge and row of every block: the canonical branch has the first row, and no line to a block runs behind another one.
fn rows(scene: &Scene, lefts: &BTreeMap<B256, i64>, wide: i64) -> BTreeMap<B256, (i64, usize)> {
    let mut places: BTreeMap<B256, (i64, usize)> = BTreeMap::new();
    let mut taken: Vec<Vec<(i64, i64)>> = Vec::new();
    let canonical = scene.nodes.iter().filter(|node| node.is_canonical);
    for node in canonical.chain(scene.nodes.iter().filter(|node| !node.is_canonical)) {
        let Some(x) = lefts.get(&node.hash).copied() else { continue };
        // From its parent's right edge on; one without a parent in the picture has a stub at its left.
        let from = lefts.get(&node.parent).map_or(x - 2 * ROOM, |left| (left + wide).min(x));
        let is_free = |row: usize| {
            taken.get(row).is_none_or(|taken| taken.iter().all(|(left, right)| x + wide <= *left || *right <= from))
        };
        let first = usize::from(!node.is_main());
        let parent = places.get(&node.parent).map(|(_, row)| *row).filter(|row| *row >= first && is_free(*row));
        let row = match parent {
            _ if node.is_canonical => 0,
            Some(row) => row,
            None => (first..ROWS_MAX).find(|row| is_free(*row)).unwrap_or(ROWS_MAX),
        };
        taken.resize_with(taken.len().max(row + 1), Vec::new);
        taken[row].push((from, x + wide));
        places.insert(node.hash, (x, row));
    }
    places
}

/// Returns the left edges in columns of equal height, and the blocks' width.
fn by_height(scene: &Scene, layout: &Layout) -> (BTreeMap<B256, i64>, i64) {
    let heights = || scene.nodes.iter().map(|node| node.height);
    let (lowest, highest) = (heights().min().unwrap_or_default(), heights().max().unwrap_or_default());
    let columns = (highest - lowest + 1).min(COLUMNS_MAX) as i64;
    let pitch = ((layout.right() - LEFT) / columns).clamp(1, WIDTH + 4 * ROOM);
    let wide = (pitch - pitch / 4).clamp(1, WIDTH);
    let left = |height: u64| LEFT + ((height - lowest).min(COLUMNS_MAX) as i64 * pitch).min(layout.right() - LEFT);
    (scene.nodes.iter().map(|node| (node.hash, left(node.height))).collect(), wide)
}

fn draw_block(picture: Canvas, node: &Node, (x, y): (i64, i64), wide: i64) -> Canvas {
    let is_main = node.is_main();
    let (fill, stroke, class) = match (node.is_final, is_main) {
        _ if node.is_rival => (RIVAL, RIVAL, "w m"),
        (true, _) => ("#1a7f37", "#1a7f37", "w m"),
        _ if node.is_pending => ("#ffffff", "#8c959f", "s m"),
        (false, true) => ("#ddf4ff", "#1f6feb", "s m"),
        (false, false) => ("#ffebe9", "#cf222e", "s m"),
    };
    let author = node.author.map_or_else(|| "nobody known".to_owned(), |author| format!("validator {author}"));
    let words = format!("block {} by {author}, {}", node.height, node.hash);
    let shape = rectangle(x, y - HEIGHT / 2, wide, HEIGHT, fill).set("rx", 4).set("stroke", stroke);
    let shape = if is_main || node.is_rival { shape } else { shape.set("stroke-dasharray", "4 2") };
    let picture = picture.add(shape.add(hint(&words)));
    let picture = if node.is_justified {
        let gap = (wide / 8).min(25);
        let ring = rectangle(x - gap, y - HEIGHT / 2 - 25, wide + 2 * gap, HEIGHT + 50, "none");
        picture.add(ring.set("rx", 6).set("stroke", "#8250df").set("stroke-width", "1.8"))
    } else {
        picture
    };
    // The author is in the tooltip, and so is the height where there is no room.
    let label = node.height.to_string();
    match text_width(&label, class) <= wide {
        true => picture.write(class, &label, &[(x + wide / 2, y + 38)]),
        false => picture,
    }
}

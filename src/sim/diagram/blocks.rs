//! The strip below the lanes: blocks by height, with their branches.

use std::collections::BTreeMap;

use svg::node::element::Group;

use super::{
    LEFT, Layout,
    scene::{Node, Scene},
    svg_shapes::{hint, line, rectangle, text},
};
use crate::primitives::B256;

/// A block's width and height, and the least room between two.
const WIDTH: i64 = 300;
const HEIGHT: i64 = 210;
const ROOM: i64 = 110;
const ROW: i64 = 310;
/// Branches that get a row of their own.
const ROWS_MAX: usize = 6;

/// Draws below `top`; answers where the strip ends.
pub(super) fn draw(mut picture: Group, scene: &Scene, layout: &Layout, top: i64) -> (Group, i64) {
    if scene.nodes.is_empty() {
        return (picture, top);
    }
    let places = places(scene, layout);
    let rows = places.values().map(|(_, row)| row + 1).max().unwrap_or(1) as i64;
    let middle = |row: usize| top + 160 + row as i64 * ROW + HEIGHT / 2;
    picture = picture.add(text(LEFT - 140, middle(0) + 45, "n e", "blocks"));
    for node in &scene.nodes {
        let Some((x, row)) = places.get(&node.hash) else { continue };
        let y = middle(*row);
        let parent = places.get(&node.parent).map(|(x, row)| (x + WIDTH, middle(*row)));
        let is_main = node.is_main();
        let colour = if is_main { "#57606a" } else { "#cf222e" };
        // A parent that is not in the picture is to the left of it.
        let from = parent.unwrap_or(((x - ROOM).max(LEFT - 80), y));
        picture = picture.add(line(from, (*x, y), colour).set("stroke-width", "1.4"));
    }
    for node in &scene.nodes {
        if let Some((x, row)) = places.get(&node.hash) {
            picture = draw_block(picture, node, (*x, middle(*row)));
        }
    }
    (picture, top + 160 + rows * ROW)
}

/// Left edge and row of every block: at the time when it was made, but right of its parent.
fn places(scene: &Scene, layout: &Layout) -> BTreeMap<B256, (i64, usize)> {
    let mut places: BTreeMap<B256, (i64, usize)> = BTreeMap::new();
    let mut ends: Vec<i64> = Vec::new();
    let count = scene.nodes.len() as i64;
    let wide = layout.right() - LEFT;
    // Too many to be drawn at their times: evenly, one after another.
    let is_even = count * (WIDTH + ROOM) > wide;
    let heights: Vec<u64> = scene.nodes.iter().map(|node| node.height).collect();
    let (lowest, highest) =
        (heights.iter().min().copied().unwrap_or_default(), heights.iter().max().copied().unwrap_or_default());
    let columns = (highest - lowest + 1) as i64;
    for node in &scene.nodes {
        let by_time = (layout.x(node.at) - WIDTH / 2).max(LEFT);
        let by_height = LEFT + (node.height - lowest) as i64 * ((wide - WIDTH) / columns.max(1)).min(WIDTH + 4 * ROOM);
        let wanted = if is_even { by_height } else { by_time };
        let parent = places.get(&node.parent).copied();
        let x = parent.map_or(wanted, |(left, _)| if is_even { wanted } else { wanted.max(left + WIDTH + ROOM) });
        let is_main = node.is_main();
        // The main branch has the first row; others go on in their parent's, if it is free.
        let is_free = |row: usize| ends.get(row).is_none_or(|end| *end < x);
        let first = usize::from(!is_main);
        let own = parent.map(|(_, row)| row).filter(|row| *row >= first && !is_main && is_free(*row));
        let row = match own {
            Some(row) => row,
            None if is_main => 0,
            None => (first..ROWS_MAX).find(|row| is_free(*row)).unwrap_or(ROWS_MAX),
        };
        ends.resize(ends.len().max(row + 1), i64::MIN);
        ends[row] = ends[row].max(x + WIDTH);
        places.insert(node.hash, (x, row));
    }
    places
}

fn draw_block(picture: Group, node: &Node, (x, y): (i64, i64)) -> Group {
    let is_main = node.is_main();
    let (fill, stroke, class) = match (node.is_final, is_main) {
        (true, _) => ("#1a7f37", "#1a7f37", "w m"),
        _ if node.is_pending => ("#ffffff", "#8c959f", "s m"),
        (false, true) => ("#ddf4ff", "#1f6feb", "s m"),
        (false, false) => ("#ffebe9", "#cf222e", "s m"),
    };
    let author = node.author.map_or_else(|| "?".to_owned(), |author| format!("v{author}"));
    let words = format!("block {} by {author}, {}", node.height, node.hash);
    let shape = rectangle(x, y - HEIGHT / 2, WIDTH, HEIGHT, fill).set("rx", 4).set("stroke", stroke);
    let shape = if is_main { shape } else { shape.set("stroke-dasharray", "4 2") };
    let picture = picture.add(shape.add(hint(&words)));
    let picture = if node.is_justified {
        let ring = rectangle(x - 25, y - HEIGHT / 2 - 25, WIDTH + 50, HEIGHT + 50, "none");
        picture.add(ring.set("rx", 6).set("stroke", "#8250df").set("stroke-width", "1.8"))
    } else {
        picture
    };
    picture.add(text(x + WIDTH / 2, y + 38, class, &format!("{}·{author}", node.height)))
}

//! Space-time diagrams: a recorded run as an SVG picture.
//!
//! A lane a replica, time to the right. Messages are arrows in the colour of their kind, from sender to receiver; one that
//! never arrives ends in a cross. A lane's band shows view, term or epoch and who leads; marks on it are blocks made, heads
//! with their heights, what is final, timeouts and reorgs. Faults are shaded. Below the lanes are the blocks with their
//! branches. Stretches of time in which nothing happens are cut out of the axis, and the cut tells how long they were.
//!
//! Everything is drawn by integers, in tenths of a pixel: the same trace gives the same bytes everywhere.

mod axis;
mod blocks;
mod lanes;
mod legend;
mod scene;
mod style;
mod svg_shapes;

#[cfg(test)]
mod tests;

use svg::node::element::Group;

use self::{axis::Axis, scene::Scene};
use super::{engine::clock::SimTime, trace::Trace};

/// Left of the lanes: their names.
const LEFT: i64 = 1_500;
/// Right of the lanes.
const RIGHT: i64 = 350;
/// Above the lanes: the title.
const TOP: i64 = 780;
/// Room for a row of labels of faults.
const LABELS: i64 = 130;
/// From one lane to the next, with few lanes.
const LANE: i64 = 960;
/// The same with many.
const LANE_MIN: i64 = 300;
/// All lanes together at most, unless each needs its least.
const LANES_MAX: i64 = 9_000;

/// What to draw of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiagramOptions {
    /// From and until when; by default the whole run, or, of a long one, the time around what is worth seeing.
    pub window: Option<(SimTime, SimTime)>,
    /// Width of the picture in pixels, at least 400.
    pub width: u32,
    /// The line at the top; by default the trace's own title.
    pub title: Option<String>,
    /// What the reader should see, in a smaller line below.
    pub caption: Option<String>,
}

impl Default for DiagramOptions {
    fn default() -> Self {
        Self { window: None, width: 1_400, title: None, caption: None }
    }
}

impl DiagramOptions {
    /// Only from `from` until `until`.
    #[must_use]
    pub const fn with_window(mut self, from: SimTime, until: SimTime) -> Self {
        self.window = Some((from, until));
        self
    }

    /// So many pixels wide.
    #[must_use]
    pub const fn with_width(mut self, width: u32) -> Self {
        self.width = width;
        self
    }

    /// Another title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What the reader should see.
    #[must_use]
    pub fn with_caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = Some(caption.into());
        self
    }
}

/// Where things are, in tenths of a pixel.
#[derive(Clone, Debug)]
struct Layout {
    axis: Axis,
    width: i64,
    top: i64,
    lane: i64,
    lanes: i64,
}

impl Layout {
    fn x(&self, at_ns: u64) -> i64 {
        LEFT + self.axis.offset(at_ns)
    }

    const fn y(&self, replica: u32) -> i64 {
        self.top + self.lane / 2 + replica as i64 * self.lane
    }

    const fn right(&self) -> i64 {
        self.width - RIGHT
    }

    const fn bottom(&self) -> i64 {
        self.top + self.lanes * self.lane
    }
}

/// The picture of a trace, as the text of an SVG file.
///
/// ```
/// use chainbox::sim::{Network, diagram::{DiagramOptions, draw}};
/// let mut network = Network::builder().with_validators(4).with_trace("four signers").build()?;
/// network.run_to_height(3)?;
/// let picture = draw(&network.trace().unwrap_or_else(|| unreachable!()), &DiagramOptions::default());
/// assert!(picture.starts_with("<svg"));
/// # Ok::<(), chainbox::sim::NetworkError>(())
/// ```
pub fn draw(trace: &Trace, options: &DiagramOptions) -> String {
    let scene = Scene::of(trace, options.window);
    let width = i64::from(options.width.max(400)) * 10;
    let axis = Axis::new(&scene.busy(), scene.from, scene.until, width - LEFT - RIGHT);
    let lanes = scene.names.len().max(1) as i64;
    let lane = (LANES_MAX / lanes).clamp(LANE_MIN, LANE);
    let rows = lanes::label_rows(&scene, &axis, width - RIGHT).iter().map(|(row, _)| row + 1).max().unwrap_or(0);
    let top = TOP + LABELS * (rows as i64 + i64::from(!scene.violations.is_empty()));
    let layout = Layout { axis, width, top, lane, lanes };

    let mut picture = Group::new();
    picture = lanes::draw(picture, &scene, &layout);
    let (with_blocks, bottom) = blocks::draw(picture, &scene, &layout, layout.bottom() + 500);
    let (with_legend, bottom) = legend::draw(with_blocks, &scene, &layout, bottom);
    let title = options.title.as_deref().unwrap_or(&trace.header.title);
    svg_shapes::card(with_legend, title, &subtitle(trace, options), width, bottom)
}

fn subtitle(trace: &Trace, options: &DiagramOptions) -> String {
    let protocol = style::protocol_name(&trace.header.consensus);
    let facts = format!("{protocol}, {} replicas, seed {}", trace.header.replicas.len(), trace.header.seed);
    match &options.caption {
        Some(caption) => format!("{caption} ({facts})"),
        None => facts,
    }
}

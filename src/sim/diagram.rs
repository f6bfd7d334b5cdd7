//! Space-time diagrams: a trace as an SVG picture.
//!
//! Each replica has a lane, with time to the right. Messages are arrows in the colour of their kind, from sender to receiver; one that
//! never arrives ends in a cross. A lane's band shows view, term or epoch and the leader; marks on it are blocks built, heads
//! with their heights, finality, timeouts and reorgs. Faults are shaded. Below the lanes are the blocks with their
//! branches. A run that breaks an invariant is shown around the first violation. Idle stretches of time are cut out of the axis, labelled with their length.
//!
//! All arithmetic is in integers, in tenths of a pixel: the same trace gives the same bytes everywhere.

mod axis;
mod blocks;
mod canvas;
mod fault_words;
mod lanes;
mod legend;
mod scene;
mod style;
mod svg_shapes;
mod violations;

#[cfg(test)]
mod tests;

use self::{
    axis::Axis,
    canvas::{Canvas, wrapped},
    scene::Scene,
};
use super::{
    engine::clock::SimTime,
    trace::{Trace, TraceOutcome},
};

/// Margin left of the lanes, for their names.
const LEFT: i64 = 1_500;
/// Margin right of the lanes.
const RIGHT: i64 = 350;
/// Margin above the lanes, for the title.
const TOP: i64 = 780;
/// Height of a row of fault labels.
const LABELS: i64 = 130;
/// Distance of lanes, when there are few.
const LANE: i64 = 960;
/// Least distance of lanes.
const LANE_MIN: i64 = 300;
/// Greatest height of all lanes, unless their least distance needs more.
const LANES_MAX: i64 = 9_000;

/// Options of a diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiagramOptions {
    /// Window of time; by default the whole run, the default window of a long one, or what is around the first violation.
    pub window: Option<(SimTime, SimTime)>,
    /// Width of the picture in pixels, at least 400.
    pub width: u32,
    /// Title; by default the trace's own.
    pub title: Option<String>,
    /// Caption, in a smaller line below the title.
    pub caption: Option<String>,
}

impl Default for DiagramOptions {
    fn default() -> Self {
        Self { window: None, width: 1_400, title: None, caption: None }
    }
}

impl DiagramOptions {
    /// Sets the window of time.
    #[must_use]
    pub const fn with_window(mut self, from: SimTime, until: SimTime) -> Self {
        self.window = Some((from, until));
        self
    }

    /// Sets the width in pixels.
    #[must_use]
    pub const fn with_width(mut self, width: u32) -> Self {
        self.width = width;
        self
    }

    /// Sets the title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the caption.
    #[must_use]
    pub fn with_caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = Some(caption.into());
        self
    }
}

/// Returns the part of a long run that a picture without a chosen window shows; `None` where it shows the whole run.
pub fn default_window(trace: &Trace) -> Option<(SimTime, SimTime)> {
    let (from, until) = Scene::excerpt(trace)?;
    Some((SimTime::from_nanos(from), SimTime::from_nanos(until)))
}

/// Layout, in tenths of a pixel.
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

/// Draws a trace; returns the text of an SVG file.
///
/// ```
/// use chainbox::{primitives::Height, sim::{Network, diagram::{DiagramOptions, draw}}};
/// let mut network = Network::builder().with_validators(4).with_trace("four signers").build()?;
/// network.run_to_height(Height::new(3))?;
/// let picture = draw(&network.trace().unwrap_or_else(|| unreachable!()), &DiagramOptions::default());
/// assert!(picture.starts_with("<svg"));
/// # Ok::<(), chainbox::sim::NetworkError>(())
/// ```
pub fn draw(trace: &Trace, options: &DiagramOptions) -> String {
    let scene = Scene::of(trace, options.window);
    let width = i64::from(options.width.max(400)) * 10;
    let focus = scene.violations.first().map(|violation| violation.at);
    let axis = Axis::new(&scene.busy(), focus, scene.from, scene.until, width - LEFT - RIGHT);
    let lanes = scene.names.len().max(1) as i64;
    let lane = (LANES_MAX / lanes).clamp(LANE_MIN, LANE);
    let rows = lanes::label_rows(&scene, &axis, width).iter().map(|(row, _)| row + 1).max().unwrap_or(0);
    let title = style::short_hashes(&without_details(title_of(trace, options), &scene));
    let (picture, below_title) = headings(Canvas::new(width), &title, &subtitle(trace, options, &scene), width);
    let layout = Layout { axis, width, top: below_title + LABELS * rows as i64, lane, lanes };

    let picture = lanes::draw(picture, &scene, &layout);
    let (picture, bottom) = blocks::draw(picture, &scene, &layout, layout.bottom() + 500);
    let (picture, bottom) = violations::draw_texts(picture, &scene, &layout, bottom);
    let (picture, bottom) = legend::draw(picture, &scene, &layout, bottom);
    svg_shapes::card(picture.into_group(), &title, width, bottom)
}

/// Writes the title and the line below it, each in as many lines as it needs; returns where the lanes may begin.
fn headings(mut picture: Canvas, title: &str, subtitle: &str, width: i64) -> (Canvas, i64) {
    let mut y = 360;
    for (class, text, height) in [("t", title, 220), ("f", &style::short_hashes(subtitle), 170)] {
        let lines = wrapped(text, class, width - 500);
        for (line, place) in lines.iter().zip(0..) {
            picture = picture.write(class, line, &[(250, y + place * height)]);
        }
        y += 220 + height * (lines.len() as i64 - 1).max(0);
    }
    (picture, y + TOP - 800)
}

fn title_of<'a>(trace: &'a Trace, options: &'a DiagramOptions) -> &'a str {
    options.title.as_deref().unwrap_or(&trace.header.title)
}

/// Returns a text with the name of its violation in place of what is told of it in the box below the lanes.
fn without_details(text: &str, scene: &Scene) -> String {
    let told = scene.violations.iter().find(|violation| text.contains(&violation.detail));
    told.map_or_else(|| text.to_owned(), |told| text.replace(&told.detail, &format!("{} is broken", told.invariant)))
}

fn subtitle(trace: &Trace, options: &DiagramOptions, scene: &Scene) -> String {
    let protocol = style::protocol_name(&trace.header.consensus);
    let facts = format!("{protocol}, {} replicas, seed {}", trace.header.replicas.len(), trace.header.seed);
    // The title of a finding has the invariant already.
    let named = scene.violations.first().filter(|violation| !title_of(trace, options).contains(&violation.detail));
    let failed = |facts: String| match named {
        Some(violation) => format!("failed: invariant `{}` is broken ({facts})", violation.invariant),
        None => facts,
    };
    let is_told_below = |text: &str| scene.violations.iter().any(|violation| text.contains(&violation.detail));
    match &options.caption {
        Some(caption) if is_told_below(caption) => failed(facts),
        Some(caption) => format!("{caption} ({facts})"),
        None => match &trace.outcome {
            TraceOutcome::Failed { reason } if is_told_below(reason) => failed(facts),
            TraceOutcome::Failed { reason } => format!("failed: {reason} ({facts})"),
            TraceOutcome::Passed => facts,
        },
    }
}

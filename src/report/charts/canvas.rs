//! A sheet to draw on: pixels in, SVG out, and the same picture as PNG.
//!
//! Plotters' SVG keeps whole coordinates only, so everything is drawn four times as large and the
//! picture scaled back: lines then sit on quarters of a pixel. Text is measured with the font that
//! is shipped, never with one of the system, so that a picture does not depend on the machine.

use std::sync::Once;

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::drawing::IntoDrawingArea;
use plotters::element::Circle;
use plotters::element::PathElement;
use plotters::element::Polygon;
use plotters::element::Rectangle;
use plotters::element::Text;
use plotters::style::Color;
use plotters::style::FontStyle;
use plotters::style::FontTransform;
use plotters::style::IntoFont;
use plotters::style::ShapeStyle;
use plotters::style::TextStyle;
use plotters::style::register_font;
use plotters::style::text_anchor::HPos;
use plotters::style::text_anchor::Pos;
use plotters::style::text_anchor::VPos;

use crate::report::charts::ChartError;
use crate::report::charts::palette::Colour;
use crate::report::charts::palette::Fill;
use crate::report::charts::palette::INK;
use crate::report::charts::palette::Ink;
use crate::report::charts::palette::PAPER;
use crate::report::charts::palette::dress;
use crate::report::charts::palette::rgb;

/// Drawing units to the pixel.
const SCALE: f64 = 4.0;
/// What plotters divides a font size by before it writes it down.
const PLOTTERS_FONT_DIVISOR: f64 = 1.24;
/// Plotters takes a font size for the height of a line when it measures, and for the em when it
/// draws; this is the height of a line of the shipped font in ems.
const LINE_HEIGHT_EM: f64 = 1.165;
/// The family named in the SVG: the shipped font first, whatever the viewer has otherwise.
const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";
/// DejaVu Sans, cut to the characters that reports use.
pub(super) const FONT: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSans-subset.ttf");

/// Which point of a text its position names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Left,
    Centre,
    Right,
}

/// Where a text lies: left, top, right, bottom in pixels.
pub(super) type TextBox = (f64, f64, f64, f64);

/// A sheet of paper; positions are pixels from its upper left corner.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    problem: Option<String>,
    /// Every text drawn, so that tests can tell whether two of them overlap.
    pub(super) texts: Vec<(TextBox, String)>,
}

/// A finished picture.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) svg: String,
    /// Every text in it and where it lies.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests look for texts that overlap"))]
    pub(super) texts: Vec<(TextBox, String)>,
}

/// Draws a picture of `width` × `height` pixels.
pub(super) fn picture(
    (width, height): (f64, f64),
    draw: impl FnOnce(&mut Canvas<'_>),
) -> Result<Picture, ChartError> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // A font that does not parse shows at the first text, as an error with a message.
        let _ = register_font(FAMILY, FontStyle::Normal, FONT);
    });
    let mut svg = String::new();
    let texts = {
        let size = ((width * SCALE) as u32, (height * SCALE) as u32);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let mut canvas = Canvas { area, problem: None, texts: Vec::new() };
        canvas.rectangle(0.0, 0.0, width, height, Fill::Plain(PAPER));
        draw(&mut canvas);
        let presented = canvas.area.present().map_err(|error| error.to_string());
        if let Some(problem) = canvas.problem.or(presented.err()) {
            return Err(ChartError::Drawing(problem));
        }
        canvas.texts
    };
    let head = format!("<svg width=\"{}\" height=\"{}\"", width * SCALE, height * SCALE);
    let scaled = format!("<svg width=\"{width}\" height=\"{height}\" stroke-linejoin=\"round\"");
    Ok(Picture { svg: dress(&svg.replacen(&head, &scaled, 1), SCALE), texts })
}

/// Rasterises a finished picture, one pixel to the pixel.
pub(super) fn png(svg: &str) -> Result<Vec<u8>, ChartError> {
    let mut options = resvg::usvg::Options::default();
    options.fontdb_mut().load_font_data(FONT.to_vec());
    options.fontdb_mut().set_sans_serif_family("DejaVu Sans");
    options.font_family = "DejaVu Sans".into();
    let failed = |problem: String| ChartError::Raster(problem);
    let tree = resvg::usvg::Tree::from_str(svg, &options).map_err(|e| failed(e.to_string()))?;
    let size = tree.size().to_int_size();
    let mut pixmap = resvg::tiny_skia::Pixmap::new(size.width(), size.height())
        .ok_or_else(|| failed("the picture has no size".into()))?;
    resvg::render(&tree, resvg::tiny_skia::Transform::default(), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| failed(error.to_string()))
}

/// A pixel position in drawing units.
fn unit((x, y): (f64, f64)) -> (i32, i32) {
    ((x * SCALE).round() as i32, (y * SCALE).round() as i32)
}

impl Canvas<'_> {
    /// Keeps the first thing that went wrong.
    fn note<E: std::fmt::Display>(&mut self, result: Result<(), E>) {
        if let Err(error) = result {
            self.problem.get_or_insert(error.to_string());
        }
    }

    /// A filled rectangle from its upper left corner.
    pub(super) fn rectangle(&mut self, x: f64, y: f64, width: f64, height: f64, fill: Fill) {
        let corners = [unit((x, y)), unit((x + width, y + height))];
        let result = self.area.draw(&Rectangle::new(corners, fill.drawn().filled()));
        self.note(result);
    }

    /// A line through the points, `width` pixels wide.
    pub(super) fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: f64) {
        if points.len() < 2 {
            return;
        }
        let points: Vec<_> = points.iter().copied().map(unit).collect();
        let style = ShapeStyle::from(&ink.drawn()).stroke_width((width * SCALE).round() as u32);
        let result = self.area.draw(&PathElement::new(points, style));
        self.note(result);
    }

    /// A filled polygon.
    pub(super) fn polygon(&mut self, points: &[(f64, f64)], fill: Fill) {
        if points.len() < 3 {
            return;
        }
        let points: Vec<_> = points.iter().copied().map(unit).collect();
        let result = self.area.draw(&Polygon::new(points, fill.drawn().filled()));
        self.note(result);
    }

    /// A disc, filled or as a ring of two pixels.
    pub(super) fn disc(&mut self, centre: (f64, f64), radius: f64, colour: Colour, filled: bool) {
        let ring = ShapeStyle::from(&rgb(colour)).stroke_width((2.0 * SCALE) as u32);
        let style = if filled { ring.filled() } else { ring };
        let radius = (radius * SCALE).round() as i32;
        let result = self.area.draw(&Circle::new(unit(centre), radius, style));
        self.note(result);
    }

    /// Text, centred on the height `y`.
    pub(super) fn text(
        &mut self,
        (x, y): (f64, f64),
        text: &str,
        size: f64,
        colour: Colour,
        anchor: Anchor,
    ) {
        if text.is_empty() {
            return;
        }
        let width = self.text_width(text, size);
        let (horizontal, left) = match anchor {
            Anchor::Left => (HPos::Left, x),
            Anchor::Centre => (HPos::Center, x - width / 2.0),
            Anchor::Right => (HPos::Right, x - width),
        };
        self.texts.push(((left, y - size * 0.5, left + width, y + size * 0.5), text.to_owned()));
        let ink = rgb(colour);
        // `dy` of a text drawn from its middle is half an ex above the digits' middle; a small
        // step down sets capitals and digits on the line that was asked for.
        let style = TextStyle::from((FAMILY, size * SCALE * PLOTTERS_FONT_DIVISOR).into_font())
            .color(&ink)
            .pos(Pos::new(horizontal, VPos::Center));
        let at = unit((x, y + size * 0.1));
        let result = self.area.draw(&Text::new(text.to_owned(), at, style));
        self.note(result);
    }

    /// How wide a text is, in pixels.
    pub(super) fn text_width(&mut self, text: &str, size: f64) -> f64 {
        let font = (FAMILY, size * SCALE).into_font().transform(FontTransform::None);
        match font.layout_box(text) {
            Ok(((left, _), (right, _))) => f64::from(right - left) / SCALE * LINE_HEIGHT_EM,
            Err(error) => {
                self.problem.get_or_insert(error.to_string());
                0.0
            }
        }
    }

    /// The text, cut with an ellipsis if it is wider than `width` pixels.
    pub(super) fn fitted(&mut self, text: &str, size: f64, width: f64) -> String {
        if self.text_width(text, size) <= width {
            return text.to_owned();
        }
        let letters: Vec<char> = text.chars().collect();
        let (mut low, mut high) = (0, letters.len());
        while low < high {
            let middle = (low + high).div_ceil(2);
            let cut: String = letters[..middle].iter().collect();
            if self.text_width(&format!("{}…", cut.trim_end()), size) <= width {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let cut: String = letters[..low].iter().collect();
        format!("{}…", cut.trim_end())
    }

    /// The text in at most `lines` lines of `width` pixels; the last one is cut if need be.
    pub(super) fn wrapped(
        &mut self,
        text: &str,
        size: f64,
        width: f64,
        lines: usize,
    ) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let mut line = String::new();
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if line.is_empty() || self.text_width(&longer, size) <= width {
                line = longer;
            } else if out.len() + 1 >= lines {
                let rest: Vec<_> = std::iter::once(word).chain(words.by_ref()).collect();
                line = format!("{line} {}", rest.join(" "));
            } else {
                out.push(std::mem::replace(&mut line, word.to_owned()));
            }
        }
        out.push(line);
        out.iter().map(|line| self.fitted(line, size, width)).collect()
    }

    /// The usual colour of text.
    pub(super) fn words(&mut self, at: (f64, f64), text: &str, size: f64) {
        self.text(at, text, size, INK, Anchor::Left);
    }
}

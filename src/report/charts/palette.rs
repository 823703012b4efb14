//! Colours that everyone can tell apart, and the dashes and hatches that carry the same message.
//!
//! Colour is never the only carrier: lines differ in their dashes, areas in their hatches, points
//! in their shapes. Plotters knows neither dashes nor hatches in SVG, so each of ours is drawn in
//! a colour of its own that nothing else uses, and `dress` then writes in what it stands for.
//!
//! Source: Okabe and Ito, Color Universal Design (2008).

use plotters::style::RGBColor;

/// A colour.
pub(super) type Colour = (u8, u8, u8);

pub(super) const INK: Colour = (0x22, 0x26, 0x2b);
pub(super) const QUIET: Colour = (0x5c, 0x63, 0x6b);
pub(super) const FRAME: Colour = (0xb8, 0xbe, 0xc4);
pub(super) const GRID: Colour = (0xe6, 0xe9, 0xec);
pub(super) const PAPER: Colour = (0xff, 0xff, 0xff);
pub(super) const WARM_UP: Colour = (0xf1, 0xf2, 0xf4);
pub(super) const TRIGGER: Colour = (0xfb, 0xdc, 0xc8);
const SHED: Colour = (0xe2, 0xc6, 0xdb);

pub(super) const BLACK: Colour = (0x00, 0x00, 0x00);
pub(super) const ORANGE: Colour = (0xe6, 0x9f, 0x00);
pub(super) const SKY: Colour = (0x56, 0xb4, 0xe9);
pub(super) const GREEN: Colour = (0x00, 0x9e, 0x73);
pub(super) const BLUE: Colour = (0x00, 0x72, 0xb2);
pub(super) const VERMILION: Colour = (0xd5, 0x5e, 0x00);
pub(super) const PURPLE: Colour = (0xcc, 0x79, 0xa7);

/// How a line is interrupted, in pixels; empty for a full line.
pub(super) type Dash = &'static str;

/// A line's colour and dashes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ink {
    pub(super) colour: Colour,
    pub(super) dash: Dash,
}

/// A full line.
pub(super) const fn full(colour: Colour) -> Ink {
    Ink { colour, dash: "" }
}

/// The lines that mark something rather than draw data.
pub(super) const CAPACITY: Ink = Ink { colour: BLACK, dash: "9 5" };
pub(super) const ACTION: Ink = Ink { colour: PURPLE, dash: "5 4" };
pub(super) const LIMIT: Ink = Ink { colour: QUIET, dash: "2 4" };

/// Every dashed line: `dress` knows no others.
const DASHED: [Ink; 3] = [CAPACITY, ACTION, LIMIT];

/// The fill of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// One colour.
    Plain(Colour),
    /// First attempts: blue, plain.
    First,
    /// Retries after a timeout: orange with rising strokes.
    Timeout,
    /// Retries after a refusal: vermilion with falling strokes.
    Refusal,
    /// Retries after an error: purple with dots.
    Error,
    /// Hedges: green with upright strokes.
    Hedge,
    /// While people turn requests away: a pale ground with level strokes.
    Shed,
}

/// The hatched fills, with the colour below and the pattern on top.
const HATCHED: [(Fill, Colour, &str); 5] = [
    (Fill::Timeout, ORANGE, r#"<path d="M-2,10 L10,-2 M6,34 L34,6 M-2,34 L34,-2" class="h"/>"#),
    (Fill::Refusal, VERMILION, r#"<path d="M-2,-2 L34,34 M-2,30 L2,34 M30,-2 L34,2" class="h"/>"#),
    (Fill::Error, PURPLE, r#"<circle cx="8" cy="8" r="4"/><circle cx="24" cy="24" r="4"/>"#),
    (Fill::Shed, SHED, r#"<path d="M0,8 L32,8 M0,24 L32,24" class="h"/>"#),
    (Fill::Hedge, GREEN, r#"<path d="M8,0 L8,32 M24,0 L24,32" class="h"/>"#),
];

/// The reserved colour of a mark that SVG needs more than a colour for.
fn reserved(group: u8, index: usize) -> Colour {
    (1, group, 2 + index as u8)
}

impl Ink {
    /// The colour in which plotters draws it.
    pub(super) fn drawn(self) -> RGBColor {
        match DASHED.iter().position(|ink| *ink == self) {
            Some(index) if !self.dash.is_empty() => rgb(reserved(1, index)),
            _ => rgb(self.colour),
        }
    }
}

impl Fill {
    /// The colour in which plotters draws it.
    pub(super) fn drawn(self) -> RGBColor {
        match self {
            Self::Plain(colour) => rgb(colour),
            Self::First => rgb(SKY),
            Self::Timeout => rgb(reserved(2, 0)),
            Self::Refusal => rgb(reserved(2, 1)),
            Self::Error => rgb(reserved(2, 2)),
            Self::Shed => rgb(reserved(2, 3)),
            Self::Hedge => rgb(reserved(2, 4)),
        }
    }
}

/// A colour as plotters wants it.
pub(super) const fn rgb((red, green, blue): Colour) -> RGBColor {
    RGBColor(red, green, blue)
}

/// A colour as SVG wants it.
fn hex((red, green, blue): Colour) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// Writes dashes and hatches into a drawing whose unit is `scale` to the pixel.
pub(super) fn dress(svg: &str, scale: f64) -> String {
    let mut out = svg.to_owned();
    for (index, ink) in DASHED.iter().enumerate() {
        let dash: Vec<_> = ink
            .dash
            .split(' ')
            .filter_map(|length| length.parse::<f64>().ok())
            .map(|length| (length * scale).to_string())
            .collect();
        out = out.replace(
            &format!("stroke=\"{}\"", hex(reserved(1, index))),
            &format!("stroke=\"{}\" stroke-dasharray=\"{}\"", hex(ink.colour), dash.join(" ")),
        );
    }
    let mut patterns = String::new();
    for (index, (_, below, marks)) in HATCHED.iter().enumerate() {
        let key = format!("fill=\"{}\"", hex(reserved(2, index)));
        if !out.contains(&key) {
            continue;
        }
        out = out.replace(&key, &format!("fill=\"url(#hatch{index})\""));
        let marks = marks.replace("class=\"h\"", "stroke=\"#FFFFFF\" stroke-width=\"4\"");
        let marks = marks.replace("<circle", "<circle fill=\"#FFFFFF\"");
        patterns += &format!(
            "<pattern id=\"hatch{index}\" width=\"32\" height=\"32\" \
             patternUnits=\"userSpaceOnUse\"><rect width=\"32\" height=\"32\" fill=\"{}\"/>\
             <g opacity=\"0.55\">{marks}</g></pattern>\n",
            hex(*below)
        );
    }
    if patterns.is_empty() {
        return out;
    }
    let head = out.find('>').map_or(0, |end| end + 1);
    format!("{}\n<defs>\n{patterns}</defs>{}", &out[..head], &out[head..])
}

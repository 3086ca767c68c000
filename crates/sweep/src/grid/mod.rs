//! Grids: values of each key, their combinations, and the texts of the scenarios and profiles in them.

mod axes;
mod boxes;
mod check;
mod same;

use std::collections::BTreeMap;
use std::path::Path;

use flashlag_units::{IntoOrder, did_you_mean, line_at, types_in_words};
use sha2::{Digest, Sha256};

use crate::error::{GridError, SweepError};
use crate::point::{Point, hex};
use axes::{Axes, KEYS};
use boxes::Box;
pub(crate) use boxes::Texts;
use same::Same;

/// The most points of a grid.
const MOST_POINTS: u64 = 1 << 40;

/// A checked grid. Its points have a fixed order: by list; within a list the seed changes fastest
/// and the scenario slowest.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    name: String,
    boxes: Vec<Box>,
    texts: Texts,
    points: u64,
}

impl Grid {
    /// Reads a grid's file.
    pub fn read(path: &Path) -> Result<Grid, SweepError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SweepError::Read { path: path.to_owned(), source })?;
        Grid::parse(&text).map_err(|source| SweepError::Grid { path: path.to_owned(), source })
    }

    /// Parses a grid from TOML. Files that it names are read from the current directory.
    pub fn parse(text: &str) -> Result<Grid, GridError> {
        let file: Axes = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_at(text, span.start));
            GridError::Text { line, message: hinted(error.message()) }
        })?;
        let name = file.name.clone().unwrap_or_default();
        let lists: Vec<(String, Axes)> = match file.points.as_slice() {
            [] => vec![(String::new(), file)],
            lists => {
                let over = |(index, list): (usize, &Axes)| -> Result<_, GridError> {
                    let place = format!("points {}: ", index + 1);
                    list.refuse_head(&place)?;
                    Ok((place, list.over(&file)))
                };
                lists.iter().enumerate().map(over).collect::<Result<_, _>>()?
            }
        };
        let mut texts = Texts::default();
        let mut boxes: Vec<Box> = Vec::new();
        for (place, axes) in &lists {
            let one = check::checked(axes, place, &mut texts)?;
            let same = Same::new(&texts);
            same.check(&one, place)?;
            if let Some(first) = boxes.iter().position(|other| same.overlap(other, &one)) {
                return Err(GridError::Overlap { first: first + 1, second: boxes.len() + 1 });
            }
            boxes.push(one);
        }
        let points = boxes.iter().try_fold(0u64, |sum, one| sum.checked_add(one.points()?));
        let points = points.filter(|points| *points <= MOST_POINTS);
        let points = points.ok_or(GridError::TooMany { most: MOST_POINTS })?;
        Ok(Grid { name, boxes, texts, points })
    }

    /// The grid's name; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of points.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// The point of an index, counted from 0.
    pub fn point(&self, index: u64) -> Option<Point> {
        let mut left = index;
        for one in &self.boxes {
            let points = one.points()?;
            if left < points {
                return Some(one.point(left));
            }
            left -= points;
        }
        None
    }

    /// SHA-256, in hexadecimal, of everything that the figures depend on: values, and the texts of
    /// scenarios and profiles. Comments and spelling have no effect.
    pub fn hash(&self) -> String {
        let canonical = serde_json::to_vec(&(&self.boxes, &self.texts)).unwrap_or_default();
        hex(&Sha256::digest(&canonical))
    }

    /// The texts that a worker needs for these points.
    pub(crate) fn texts_of(&self, points: &[Point]) -> Texts {
        let of = |all: &BTreeMap<String, String>, name: &dyn Fn(&Point) -> String| {
            let names = points.iter().map(name);
            names.filter_map(|name| all.get_key_value(&name)).map(owned).into_map()
        };
        Texts {
            scenarios: of(&self.texts.scenarios, &|point| point.scenario.clone()),
            profiles: of(&self.texts.profiles, &|point| point.profile.clone()),
        }
    }

    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }
}

fn owned((name, text): (&String, &String)) -> (String, String) {
    (name.clone(), text.clone())
}

/// The TOML parser's message, with a suggestion for the key.
fn hinted(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next().filter(|_| message.starts_with("unknown field ")) {
        Some(written) => {
            let known = KEYS.join(", ");
            let near = did_you_mean(written, KEYS.iter().copied());
            format!("no grid has a key `{written}`; there are {known}{near}")
        }
        None => types_in_words(message),
    }
}

#[cfg(test)]
mod tests;

//! Vectors of the layout algebra.
//!
//! A layout is right when it is the same function on the same domain with the same outer modes. Coalesced layouts, complements and
//! inverses have one spelling, up to modes of extent 1 and tuples of one mode, so their text is compared.

use super::Outcome;
use girih_layout::{IntTuple, Layout, LayoutError};
use serde_json::Value;

/// The operations that vectors can ask for.
pub(super) const OPS: [&str; 16] = [
    "query",
    "map",
    "crd",
    "coalesce",
    "composition",
    "complement",
    "right_inverse",
    "left_inverse",
    "logical_divide",
    "zipped_divide",
    "tiled_divide",
    "flat_divide",
    "logical_product",
    "zipped_product",
    "tiled_product",
    "flat_product",
];

/// Asks one question: `vector` has an `op`, the inputs and the right answer.
pub fn run(vector: &Value) -> Outcome {
    match answer(&Question(vector)) {
        Ok(()) => Outcome::Passed,
        Err(wrong) => Outcome::Failed(format!("{wrong}; asked: {vector}")),
    }
}

/// What is wrong with an answer, or with the vector itself.
type Wrong = String;

fn answer(question: &Question<'_>) -> Result<(), Wrong> {
    match question.text("op")? {
        "query" => query(question),
        "map" => same_offsets(&question.layout("layout")?, &question.numbers("result")?),
        "crd" => coordinates(question),
        "coalesce" => same_text(question, Ok(question.layout("layout")?.coalesce())),
        "complement" => complement(question),
        "right_inverse" => same_text(question, question.layout("layout")?.right_inverse()),
        "left_inverse" => same_text(question, question.layout("layout")?.left_inverse()),
        op => same_function(
            question,
            binary(op, &question.layout("a")?, &question.layout("b")?)?,
        ),
    }
}

fn binary(op: &str, a: &Layout, b: &Layout) -> Result<Result<Layout, LayoutError>, Wrong> {
    Ok(match op {
        "composition" => a.composition(b),
        "logical_divide" => a.logical_divide(b),
        "zipped_divide" => a.zipped_divide(b),
        "tiled_divide" => a.tiled_divide(b),
        "flat_divide" => a.flat_divide(b),
        "logical_product" => a.logical_product(b),
        "zipped_product" => a.zipped_product(b),
        "tiled_product" => a.tiled_product(b),
        "flat_product" => a.flat_product(b),
        _ => return Err(format!("there is no operation `{op}`")),
    })
}

fn query(question: &Question<'_>) -> Result<(), Wrong> {
    let layout = question.layout("layout")?;
    let given = [
        layout.rank() as u64,
        layout.depth() as u64,
        layout.size().value(),
        layout.cosize().value(),
    ];
    let right = ["rank", "depth", "size", "cosize"].map(|name| question.number(name));
    for (given, right) in given.into_iter().zip(right) {
        equal(&given, &right?)?;
    }
    Ok(())
}

fn coordinates(question: &Question<'_>) -> Result<(), Wrong> {
    let shape: IntTuple = parse(question.text("shape")?)?;
    let right = question.list("result")?;
    equal(&shape.size().map_err(wrong)?.value(), &(right.len() as u64))?;
    for (i, right) in right.iter().enumerate() {
        let right: IntTuple = parse(right.as_str().ok_or("a coordinate is no text")?)?;
        let given = girih_layout::idx2crd(i as u64, &shape).map_err(wrong)?;
        equal(&given.to_dynamic(), &right)?;
    }
    Ok(())
}

fn complement(question: &Question<'_>) -> Result<(), Wrong> {
    let given = question
        .layout("layout")?
        .complement(question.number("max")?);
    match (question.text("error"), given) {
        (Err(_), given) => same_text(question, given),
        (Ok("stride divisibility"), Err(LayoutError::NoComplement { .. })) => Ok(()),
        (Ok(right), given) => Err(format!("got {given:?}, right is the error `{right}`")),
    }
}

fn same_text(question: &Question<'_>, given: Result<Layout, LayoutError>) -> Result<(), Wrong> {
    let (given, right) = (given.map_err(wrong)?, question.layout("result")?);
    equal(&plain(&given), &plain(&right))
}

/// The text without modes of extent 1 and without tuples of one mode.
fn plain(layout: &Layout) -> String {
    let leaves = layout.shape().leaves().zip(layout.stride().leaves());
    let kept: Vec<_> = leaves.filter(|(extent, _)| extent.value() != 1).collect();
    let text = |part: Vec<u64>| match part[..] {
        [leaf] => leaf.to_string(),
        _ => format!("{part:?}"),
    };
    let extents = kept.iter().map(|(extent, _)| extent.value()).collect();
    let strides = kept.iter().map(|(_, stride)| stride.value()).collect();
    format!("{}:{}", text(extents), text(strides))
}

fn same_function(question: &Question<'_>, given: Result<Layout, LayoutError>) -> Result<(), Wrong> {
    let (given, right) = (given.map_err(wrong)?, question.layout("result")?);
    equal(&mode_sizes(&given), &mode_sizes(&right))?;
    same_offsets(&given, &right.offsets().collect::<Vec<_>>())?;
    match question.0.get("image") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => same_offsets(&given, &question.numbers("image")?),
    }
}

fn mode_sizes(layout: &Layout) -> Vec<u64> {
    layout.modes().map(|mode| mode.size().value()).collect()
}

fn same_offsets(given: &Layout, right: &[u64]) -> Result<(), Wrong> {
    match given.offsets().eq(right.iter().copied()) {
        true => Ok(()),
        false => Err(format!(
            "got {given:#} with offsets {:?}",
            given.offsets().collect::<Vec<_>>()
        )),
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(given: &T, right: &T) -> Result<(), Wrong> {
    match given == right {
        true => Ok(()),
        false => Err(format!("got {given:?}, right is {right:?}")),
    }
}

fn wrong(error: LayoutError) -> Wrong {
    format!("refused: {error}")
}

fn parse<T: std::str::FromStr<Err = LayoutError>>(text: &str) -> Result<T, Wrong> {
    text.parse().map_err(|error| format!("`{text}`: {error}"))
}

/// The fields of a vector.
struct Question<'a>(&'a Value);

impl<'a> Question<'a> {
    fn text(&self, name: &str) -> Result<&'a str, Wrong> {
        self.field(name, Value::as_str)
    }

    fn number(&self, name: &str) -> Result<u64, Wrong> {
        self.field(name, Value::as_u64)
    }

    fn list(&self, name: &str) -> Result<&'a Vec<Value>, Wrong> {
        self.field(name, Value::as_array)
    }

    fn numbers(&self, name: &str) -> Result<Vec<u64>, Wrong> {
        let numbers = self.list(name)?.iter().map(Value::as_u64);
        numbers
            .collect::<Option<_>>()
            .ok_or_else(|| format!("`{name}` is no list of numbers"))
    }

    fn layout(&self, name: &str) -> Result<Layout, Wrong> {
        parse(self.text(name)?)
    }

    fn field<T>(&self, name: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, Wrong> {
        self.0
            .get(name)
            .and_then(read)
            .ok_or_else(|| format!("the vector has no fitting `{name}`"))
    }
}

//! Zachary's karate club: a graph convolution told the side of two members finds the side of the
//! other thirty-two.
//!
//! [`Club`] is the data, [`Gcn`] the model, whose message passing is girih's gather and
//! scatter-add, [`train`] the training on a Burn device, and [`picture`] draws the outcome.

mod club;
mod layout;
mod model;
mod picture;
mod train;

pub use club::{ADMINISTRATOR, Club, Faction, INSTRUCTOR, ParseError};
pub use layout::{Point, layout};
pub use model::{Gcn, Graph};
pub use picture::picture;
pub use train::{Progress, Settings, train};

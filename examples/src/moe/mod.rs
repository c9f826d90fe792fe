//! A character model with a mixture of experts.

mod model;
mod plot;
mod text;
mod train;

pub use model::{CharModel, Sizes, SplitMix64};
pub use plot::plot;
pub use text::Text;
pub use train::{Progress, Settings, Trained, train};

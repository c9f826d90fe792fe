//! Modules.

mod embedding;
mod embedding_bag;

pub use embedding::{Embedding, EmbeddingConfig, EmbeddingRecord};
pub use embedding_bag::{BagMode, EmbeddingBag, EmbeddingBagConfig};

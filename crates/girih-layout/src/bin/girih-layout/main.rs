//! The command `girih-layout`: the layout algebra and its pictures from a shell.

mod args;

use args::{Args, Command, Kind, Output, Side};
use clap::Parser;
use girih_layout::{
    ComposedLayout, Layout, LayoutError, Picture, ThreadValueLayout, Tiler, picture,
};
use std::path::PathBuf;
use std::process::ExitCode;

/// What ends the command early.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("cannot write {}: {error}", file.display())]
    Svg {
        file: PathBuf,
        error: std::io::Error,
    },
}

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Show {
            layout,
            tile,
            banks,
            access,
            output,
        } => {
            let picture = match (tile, banks) {
                (Some(tile), _) => {
                    let spread = ThreadValueLayout::new(tile, layout.layout().clone())?;
                    Picture::of_threads(&spread)?
                }
                (None, Some(element_bytes)) => {
                    let banks = picture::Banks::shared_memory(element_bytes);
                    Picture::of_banks(&layout, banks, access.into())?
                }
                (None, None) => Picture::of_layout(&layout)?,
            };
            println!("{}", facts(layout.layout()));
            draw(&picture, &output)
        }
        Command::Compose {
            outer,
            tiler,
            output,
        } => answer(&outer.composition(tiler)?, &output),
        Command::Divide {
            layout,
            tiler,
            kind,
            output,
        } => answer(&divide(&layout, tiler, kind)?, &output),
        Command::Product {
            layout,
            tiler,
            kind,
            output,
        } => answer(&product(&layout, tiler, kind)?, &output),
        Command::Complement {
            layout,
            max,
            output,
        } => answer(&layout.complement(max)?, &output),
        Command::Invert {
            layout,
            side,
            output,
        } => {
            let inverse = match side {
                Side::Left => layout.left_inverse(),
                Side::Right => layout.right_inverse(),
            };
            answer(&inverse?, &output)
        }
    }
}

fn divide(layout: &Layout, tiler: Tiler, kind: Kind) -> Result<Layout, LayoutError> {
    match kind {
        Kind::Logical => layout.logical_divide(tiler),
        Kind::Zipped => layout.zipped_divide(tiler),
        Kind::Tiled => layout.tiled_divide(tiler),
        Kind::Flat => layout.flat_divide(tiler),
    }
}

fn product(layout: &Layout, tiler: Tiler, kind: Kind) -> Result<Layout, LayoutError> {
    match kind {
        Kind::Logical => layout.logical_product(tiler),
        Kind::Zipped => layout.zipped_product(tiler),
        Kind::Tiled => layout.tiled_product(tiler),
        Kind::Flat => layout.flat_product(tiler),
    }
}

/// Prints a layout, and draws it where a picture was asked for or can be had.
fn answer(layout: &Layout, output: &Output) -> Result<(), Failure> {
    match output.marks {
        true => println!("{layout}"),
        false => println!("{layout:#}"),
    }
    println!("{}", facts(layout));
    match (
        Picture::of_layout(ComposedLayout::from(layout)),
        &output.svg,
    ) {
        (Ok(picture), _) => draw(&picture, output),
        (Err(error), Some(_)) => Err(error.into()),
        // The text of a layout that is no grid is answer enough.
        (Err(_), None) => Ok(()),
    }
}

fn facts(layout: &Layout) -> String {
    format!(
        "rank {}, depth {}, size {}, cosize {}",
        layout.rank(),
        layout.depth(),
        layout.size().value(),
        layout.cosize().value()
    )
}

fn draw(picture: &Picture, output: &Output) -> Result<(), Failure> {
    let Some(file) = &output.svg else {
        print!("{picture}");
        return Ok(());
    };
    std::fs::write(file, picture.svg()).map_err(|error| Failure::Svg {
        file: file.clone(),
        error,
    })
}

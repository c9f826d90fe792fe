//! `cargo xtask pack`: one archive for an NVIDIA machine that has a driver and NVRTC, and no toolchain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build_set::{self, BuildSet};
use crate::error::{Error, Result};
use crate::process;
use crate::setup::{self, Component};

/// The archive's one folder.
const NAME: &str = "girih-pack";

/// The archive may hold at most this many bytes.
const MOST: u64 = 40_000_000;

/// Folders of the repository that travel along, and what they are called in the archive.
const FOLDERS: [(&str, &str); 2] = [
    ("crates/girih-testkit/vectors", "vectors"),
    ("benches/peers", "peers"),
];

/// Builds the suite for CUDA and writes `girih-pack.tar.gz` to `out`.
pub fn run(out: &Path) -> Result<()> {
    setup::ensure(&[Component::Compiler], false)?;
    let suite = BuildSet::Cuda.suite()?;
    let stage = build_set::target_dir().join("pack");
    stage_files(&stage.join(NAME), &suite)?;

    fs::create_dir_all(out).map_err(Error::file(out))?;
    let archive = out.join(format!("{NAME}.tar.gz"));
    process::run(
        Command::new("tar")
            .args([
                "--create",
                "--gzip",
                "--owner=0",
                "--group=0",
                "--exclude=__pycache__",
                "--file",
            ])
            .arg(&archive)
            .arg("--directory")
            .arg(&stage)
            .arg(NAME),
    )?;
    let bytes = check_size(&archive)?;
    println!(
        "{} ({:.1} MB); on the GPU machine: tar xzf {NAME}.tar.gz && {NAME}/run.sh",
        archive.display(),
        bytes as f64 / 1e6
    );
    Ok(())
}

/// Copies everything that the archive holds into the fresh folder `stage`.
fn stage_files(stage: &Path, suite: &Path) -> Result<()> {
    if stage.exists() {
        fs::remove_dir_all(stage).map_err(Error::file(stage))?;
    }
    fs::create_dir_all(stage).map_err(Error::file(stage))?;
    copy(suite, &stage.join("girih-suite"))?;
    copy(
        &build_set::root().join("xtask/src/pack/run.sh"),
        &stage.join("run.sh"),
    )?;
    for (from, to) in FOLDERS {
        copy_folder(&build_set::root().join(from), &stage.join(to))?;
    }
    Ok(())
}

/// Copies the files of a folder that holds files alone; what else it holds is left out.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(Error::file(to))?;
    for entry in fs::read_dir(from).map_err(Error::file(from))? {
        let path: PathBuf = entry.map_err(Error::file(from))?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// Copies a file with its permissions.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).map_err(Error::file(from))
}

/// The archive's size, which has to be within [`MOST`].
fn check_size(archive: &Path) -> Result<u64> {
    let bytes = fs::metadata(archive).map_err(Error::file(archive))?.len();
    if bytes > MOST {
        return Err(Error::PackTooLarge {
            path: archive.to_owned(),
            bytes,
            allowed: MOST,
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as `run` stages it, with `suite` as its program; `run.sh` is started in it.
    fn run_packed(name: &str, suite: &str) -> (bool, String) {
        let (green, summary, _) = run_packed_with(name, suite, &[]);
        (green, summary)
    }

    /// The same with more arguments; the third is the table of what was measured, if one was made.
    fn run_packed_with(name: &str, suite: &str, more: &[&str]) -> (bool, String, String) {
        let folder = std::env::temp_dir().join(format!("girih-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("program");
        fs::write(&program, suite).unwrap();
        setup::make_executable(&program).unwrap();
        let stage = folder.join(NAME);
        stage_files(&stage, &program).unwrap();
        let results = folder.join("results");
        let mut command = Command::new(stage.join("run.sh"));
        command
            .args(["--no-peers", "--out"])
            .arg(&results)
            .args(more);
        let green = process::succeeds(&mut command);
        let summary = fs::read_to_string(results.join("summary.txt")).unwrap();
        let compared = fs::read_to_string(results.join("compare.log")).unwrap_or_default();
        fs::remove_dir_all(&folder).unwrap();
        (green, summary, compared)
    }

    const GREEN: &str = "#!/bin/sh
case \"$*\" in
test*' --shard 1/'*) echo 'test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out' ;;
oracle*) echo '2 passed, 0 failed, 3 skipped' ;;
esac
";

    #[test]
    fn the_packed_script_sums_up() {
        let (green, summary) = run_packed("pack-green", GREEN);
        assert!(green, "{summary}");
        let vectors = fs::read_dir(build_set::root().join(FOLDERS[0].0))
            .unwrap()
            .count();
        let closing = format!(
            "{} passed, 0 failed, {} skipped",
            5 + 2 * vectors,
            1 + 3 * vectors
        );
        assert_eq!(summary.lines().last(), Some(closing.as_str()));
    }

    #[test]
    fn the_packed_script_fails_with_a_failed_test() {
        let red = GREEN.replace("ok. 5 passed; 0 failed", "FAILED. 4 passed; 1 failed");
        let (green, summary) = run_packed(
            "pack-red",
            &red.replace("fi\n", "")
                .replace(";;\noracle*", "; exit 101 ;;\noracle*"),
        );
        assert!(!green, "{summary}");
        assert!(summary.contains("tests-1: FAILED"), "{summary}");
        assert!(summary.contains(" 1 failed"), "{summary}");
    }

    #[test]
    fn the_packed_script_fails_without_tests() {
        let (green, summary) = run_packed("pack-empty", "#!/bin/sh\n");
        assert!(!green, "{summary}");
        assert!(summary.contains("no test ran"), "{summary}");
    }

    /// A suite that takes 10 us in the first run, and 2 us longer in each later one.
    const MEASURES: &str = r#"#!/bin/sh
[ "$1" = bench ] || exit 0
[ "$7 $8" = "gather f32 sort" ] || exit 3
times=$(dirname "$0")/times
echo >>"$times"
us=$((8 + 2 * $(wc -l <"$times")))
echo "{\"peer\":\"girih\",\"name\":\"gather\",\"op\":\"gather\",\"bytes\":24000,\"median_us\":$us,\"window_us\":$us}" >"$5"
"#;

    #[test]
    fn the_packed_script_compares_the_medians_of_runs() {
        let more = [
            "--no-tests",
            "--runs",
            "3",
            "--bench",
            "gather f32",
            "--bench",
            "sort",
        ];
        let (green, summary, compared) = run_packed_with("pack-runs", MEASURES, &more);
        assert!(green, "{summary}");
        assert!(summary.contains("run-3/bench: ok"), "{summary}");
        let row = "| gather | 12.0 / 12.0 (± 16.7 / 16.7 %) | 2 / 2 |";
        assert!(compared.contains(row), "{compared}");
    }

    #[test]
    fn the_peers_own_tests_pass() {
        let mut python = Command::new("python3");
        python.args(["-m", "unittest", "discover", "--start-directory"]);
        process::run(python.arg(build_set::root().join(FOLDERS[1].0))).unwrap();
    }

    #[test]
    fn a_large_archive_is_refused() {
        let path = std::env::temp_dir().join(format!("girih-large-{}", std::process::id()));
        let file = fs::File::create(&path).unwrap();
        file.set_len(MOST).unwrap();
        assert_eq!(check_size(&path).unwrap(), MOST);
        file.set_len(MOST + 1).unwrap();
        assert!(matches!(check_size(&path), Err(Error::PackTooLarge { .. })));
        fs::remove_file(&path).unwrap();
    }
}

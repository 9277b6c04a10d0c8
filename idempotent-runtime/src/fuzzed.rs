//! What must hold for every input: for the fuzz targets in `fuzz/`, and for their seeds as a test.

pub use crate::http::{fuzzed_header as header, fuzzed_record as record};
pub use crate::key::fuzzed_key as key;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_seed_holds() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds");
        for (target, check) in [("header", header as fn(&[u8])), ("record", record), ("key", key)] {
            let files = fs::read_dir(seeds.join(target)).expect("a folder of seeds");
            let mut count = 0;
            for file in files {
                let path = file.expect("a file").path();
                println!("{}", path.display());
                check(&fs::read(path).expect("a seed"));
                count += 1;
            }
            assert!(count > 5, "{target}: {count} seeds");
        }
    }
}

//! Prints how many allocations one first call on the memory store makes: a program of its own, so that counting slows
//! down nothing else that is measured.

use allocation_counter::measure;
use benches::MemoryCalls;

/// What is allocated now and then, such as a larger table, is spread over so many calls.
const CALLS: u64 = 10_000;

fn main() -> anyhow::Result<()> {
    let mut memory = MemoryCalls::new()?;
    memory.run(CALLS)?;
    let mut outcome = Ok(());
    let counted = measure(|| outcome = memory.run(CALLS));
    outcome?;
    println!("{} {}", counted.count_total, CALLS);
    Ok(())
}

//! What is said at the start of a program of which two handlers share their records. A test program of its own, since it is
//! said once.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use idempotent_runtime::{Error, Idempotency, idempotent};

#[idempotent(prefix = "order:consume", keys = [order], ttl = 24h)]
async fn consume(order: u64) -> Result<u64, Error> {
    Ok(order)
}

/// Somebody has copied it, and has not thought of the prefix.
#[idempotent(prefix = "order:consume", keys = [order], ttl = 24h)]
async fn cancel(order: u64) -> Result<bool, Error> {
    Ok(order > 0)
}

#[idempotent(prefix = "order:print", keys = [order], ttl = 24h)]
async fn print(order: u64) -> Result<u64, Error> {
    Ok(order + 1)
}

/// Keeps what is written to it.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn it_is_said_once_in_the_log_when_a_handle_is_made() {
    let kept = Kept::default();
    let writer = kept.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, || {
        let first = Idempotency::memory();
        drop((first, Idempotency::memory(), consume(1), cancel(1), print(1)));
    });
    let log = String::from_utf8(kept.0.lock().expect("nobody panics with it").clone()).expect("text");
    let lines: Vec<&str> = log.lines().collect();
    let [line] = lines[..] else { panic!("one line: {log}") };
    assert!(line.contains(" WARN ") && line.contains("handlers share their records"), "{line}");
    assert!(line.contains("`consume` of") && line.contains("`cancel` of") && !line.contains("print"), "{line}");
}

//! The sink: where runs leave a trace that no kill can take back, outside the consumers.
//!
//! One connection for each consumer, one report a line, each answered by a line. A connection that ends says that its
//! consumer has gone, which the operating system does also for a process that is killed.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use examples::fence::Answer;
use examples::line::write_line;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::ledger::{Ledger, Report, Speaker};

pub(crate) struct Sink {
    ledger: Arc<Mutex<Ledger>>,
    pub(crate) address: SocketAddr,
}

impl Sink {
    pub(crate) async fn open(ledger: Ledger) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let ledger = Arc::new(Mutex::new(ledger));
        let shared = Arc::clone(&ledger);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(listen(stream, Arc::clone(&shared)));
            }
        });
        Ok(Self { ledger, address })
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }
}

async fn listen(stream: TcpStream, ledger: Arc<Mutex<Ledger>>) {
    let mut speaker = Speaker::default();
    // However it ends, the consumer has gone.
    _ = hear_all(stream, &ledger, &mut speaker).await;
    lock(&ledger).hang_up(&mut speaker);
}

async fn hear_all(mut stream: TcpStream, ledger: &Mutex<Ledger>, speaker: &mut Speaker) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = lock(ledger).hear(speaker, serde_json::from_str(&line)?);
        write_line(&mut write, &answer).await?;
    }
    Ok(())
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One consumer's line to the sink.
#[derive(Debug)]
pub(crate) struct Line {
    line: examples::line::Line<Report, Answer>,
    /// How long an effect travels: a process that is stopped meanwhile delivers it when it wakes up.
    on_the_way: Duration,
}

impl Line {
    pub(crate) async fn open(sink: SocketAddr, on_the_way: Duration) -> Result<Self> {
        let line = Self { line: examples::line::Line::open(sink).await?, on_the_way };
        line.tell(Report::Hello { process: std::process::id() }).await?;
        Ok(line)
    }

    /// Returns once the sink has heard it, with its answer.
    pub(crate) async fn tell(&self, report: Report) -> Result<Answer> {
        let on_the_way = if report.is_effect() { self.on_the_way } else { Duration::ZERO };
        self.line.ask(report, on_the_way).await
    }
}

//! The sink: where runs leave a trace that no kill can take back, outside the consumers.
//!
//! One connection for each consumer, one report a line, each answered by a line. A connection that ends says that its
//! consumer has gone, which the operating system does also for a process that is killed.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

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
        lock(ledger).hear(speaker, serde_json::from_str(&line)?);
        write.write_all(b"heard\n").await?;
    }
    Ok(())
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One consumer's line to the sink.
#[derive(Debug)]
pub(crate) struct Line(mpsc::Sender<(Report, oneshot::Sender<()>)>);

impl Line {
    pub(crate) async fn open(sink: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(sink).await.context("the sink has gone")?;
        stream.set_nodelay(true)?;
        let (reports, inbox) = mpsc::channel(1);
        tokio::spawn(carry(stream, inbox));
        let line = Self(reports);
        line.tell(Report::Hello { process: std::process::id() }).await?;
        Ok(line)
    }

    /// Returns once the sink has heard it. A handler that is cancelled here does not garble the line: another task
    /// carries it.
    pub(crate) async fn tell(&self, report: Report) -> Result<()> {
        let (heard, answer) = oneshot::channel();
        let gone = "the sink has gone";
        self.0.send((report, heard)).await.ok().context(gone)?;
        answer.await.context(gone)
    }
}

async fn carry(mut stream: TcpStream, mut inbox: mpsc::Receiver<(Report, oneshot::Sender<()>)>) -> Result<()> {
    let (read, mut write) = stream.split();
    let mut answers = BufReader::new(read).lines();
    while let Some((report, heard)) = inbox.recv().await {
        let mut line = serde_json::to_vec(&report)?;
        line.push(b'\n');
        write.write_all(&line).await?;
        answers.next_line().await?.context("no answer")?;
        _ = heard.send(()); // nobody waits if the handler was cancelled
    }
    Ok(())
}

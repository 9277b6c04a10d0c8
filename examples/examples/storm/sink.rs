//! The sink: where runs leave a trace that no kill can take back, outside the consumers.
//!
//! One connection for each consumer, one report a line, each answered by a line. A connection that ends says that its
//! consumer has gone, which the operating system does also for a process that is killed.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::fence::Answer;
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

async fn write_line(write: &mut (impl AsyncWrite + Unpin), what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    write.write_all(&line).await
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One consumer's line to the sink.
#[derive(Debug)]
pub(crate) struct Line(mpsc::Sender<Spoken>);

type Spoken = (Report, oneshot::Sender<Answer>);

impl Line {
    /// `on_the_way` is for how long an effect travels: a process that is stopped meanwhile delivers it when it wakes up,
    /// whatever its handler has come to.
    pub(crate) async fn open(sink: SocketAddr, on_the_way: Duration) -> Result<Self> {
        let stream = TcpStream::connect(sink).await.context("the sink has gone")?;
        stream.set_nodelay(true)?;
        let (reports, inbox) = mpsc::channel(1);
        tokio::spawn(carry(stream, inbox, on_the_way));
        let line = Self(reports);
        line.tell(Report::Hello { process: std::process::id() }).await?;
        Ok(line)
    }

    /// Returns once the sink has heard it, with its answer. A handler that is cancelled here does not garble the line: another task
    /// carries it.
    pub(crate) async fn tell(&self, report: Report) -> Result<Answer> {
        let (heard, answer) = oneshot::channel();
        let gone = "the sink has gone";
        self.0.send((report, heard)).await.ok().context(gone)?;
        answer.await.context(gone)
    }
}

async fn carry(mut stream: TcpStream, mut inbox: mpsc::Receiver<Spoken>, on_the_way: Duration) -> Result<()> {
    let (read, mut write) = stream.split();
    let mut answers = BufReader::new(read).lines();
    while let Some((report, heard)) = inbox.recv().await {
        if report.is_effect() && !on_the_way.is_zero() {
            sleep(on_the_way).await;
        }
        write_line(&mut write, &report).await?;
        let answer = answers.next_line().await?.context("no answer")?;
        _ = heard.send(serde_json::from_str(&answer)?); // nobody waits if the handler was cancelled
    }
    Ok(())
}

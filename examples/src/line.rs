//! One speaker's line to somebody who answers: a question a line, each answered by a line.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

/// A speaker's end, of questions `Q` and their answers `A`.
#[derive(Debug)]
pub struct Line<Q, A>(mpsc::Sender<Spoken<Q, A>>);

#[derive(Debug)]
struct Spoken<Q, A> {
    question: Q,
    /// How long it travels.
    on_the_way: Duration,
    heard: oneshot::Sender<A>,
}

impl<Q, A> Line<Q, A>
where
    Q: Serialize + Send + Sync + 'static,
    A: DeserializeOwned + Send + 'static,
{
    /// Opens a line.
    ///
    /// # Errors
    ///
    /// Where nobody listens.
    pub async fn open(listener: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(listener).await.context("nobody listens")?;
        stream.set_nodelay(true)?;
        let (questions, inbox) = mpsc::channel(1);
        tokio::spawn(carry(stream, inbox));
        Ok(Self(questions))
    }

    /// Returns with the answer. A caller that goes away meanwhile does not garble the line: another task carries it, and
    /// delivers what is `on_the_way` whatever its sender has come to.
    ///
    /// # Errors
    ///
    /// Where the listener has gone.
    pub async fn ask(&self, question: Q, on_the_way: Duration) -> Result<A> {
        let (heard, answer) = oneshot::channel();
        let gone = "the listener has gone";
        self.0.send(Spoken { question, on_the_way, heard }).await.ok().context(gone)?;
        answer.await.context(gone)
    }
}

async fn carry<Q: Serialize, A: DeserializeOwned>(
    mut stream: TcpStream,
    mut inbox: mpsc::Receiver<Spoken<Q, A>>,
) -> Result<()> {
    let (read, mut write) = stream.split();
    let mut answers = BufReader::new(read).lines();
    while let Some(Spoken { question, on_the_way, heard }) = inbox.recv().await {
        if !on_the_way.is_zero() {
            sleep(on_the_way).await;
        }
        write_line(&mut write, &question).await?;
        let answer = answers.next_line().await?.context("no answer")?;
        _ = heard.send(serde_json::from_str(&answer)?); // nobody waits if the caller went away
    }
    Ok(())
}

/// Writes one line.
///
/// # Errors
///
/// Those of the stream.
pub async fn write_line(write: &mut (impl AsyncWrite + Unpin), what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    write.write_all(&line).await
}

//! The two threads of a connection, one for each way.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::state::{Connection, Fate, State, Way};

/// How long a server may take to carry out what it was sent before a connection was lost.
const DRAIN: Duration = Duration::from_secs(5);

/// Carries bytes both ways until the connection ends.
pub(super) fn run(state: &Arc<State>, connection: &Arc<Connection>) {
    let answers = {
        let (state, connection) = (Arc::clone(state), Arc::clone(connection));
        thread::spawn(move || carry(&state, &connection, Way::Answer))
    };
    carry(state, connection, Way::Request);
    _ = answers.join();
}

fn carry(state: &State, connection: &Connection, way: Way) {
    let (from, to) = match way {
        Way::Request => (&connection.client, &connection.server),
        Way::Answer => (&connection.server, &connection.client),
    };
    match pump(state, connection, way, from, to) {
        // One side says no more; the other may still answer.
        Ok(End::OfStream) => _ = to.shutdown(Shutdown::Write),
        Ok(End::Lost) => lose(connection),
        Err(_) => connection.cut(),
    }
}

/// Why no more bytes are carried one way.
enum End {
    OfStream,
    Lost,
}

fn pump(state: &State, connection: &Connection, way: Way, mut from: &TcpStream, mut to: &TcpStream) -> io::Result<End> {
    let mut buffer = [0; 16 * 1024];
    loop {
        let length = from.read(&mut buffer)?;
        let bytes = &buffer[..length];
        if bytes.is_empty() {
            return Ok(End::OfStream);
        }
        match state.fate(connection, way, bytes) {
            Fate::Pass => to.write_all(bytes)?,
            Fate::PassAfter(delay) => {
                thread::sleep(delay);
                to.write_all(bytes)?;
            }
            Fate::Lose => {}
            Fate::LoseConnection => return Ok(End::Lost),
        }
    }
}

/// Closes the client's half, and lets the server finish what it was sent.
///
/// A socket that is closed with something unread resets the connection, and the server would then
/// throw away what it has not read: hence the reading to the end.
fn lose(connection: &Connection) {
    _ = connection.client.shutdown(Shutdown::Both);
    let mut server = &connection.server;
    _ = server
        .shutdown(Shutdown::Write)
        .and_then(|()| server.set_read_timeout(Some(DRAIN)))
        .and_then(|()| io::copy(&mut server, &mut io::sink()));
    connection.cut();
}

//! The thread that accepts clients, or has its port closed while they are to be refused.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::pump;
use super::state::{Connection, State};

pub(super) fn spawn(state: Arc<State>, listener: TcpListener) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(format!("proxy-{}", state.address.port())).spawn(move || listen(&state, listener))
}

fn listen(state: &Arc<State>, mut listener: TcpListener) {
    loop {
        let accepted = listener.accept();
        if state.has_ended() {
            return;
        }
        if state.refuses() {
            drop(accepted);
            drop(listener);
            state.wait_while_refusing();
            if state.has_ended() {
                return;
            }
            listener = match TcpListener::bind(state.address) {
                Ok(listener) => {
                    state.listens_again(Ok(()));
                    listener
                }
                Err(error) => return state.listens_again(Err(error)),
            };
        } else if let Ok((client, _)) = accepted {
            let state = Arc::clone(state);
            thread::spawn(move || connect(&state, client));
        }
    }
}

/// Joins a client to the server. Where there is none, the client's connection is closed.
fn connect(state: &Arc<State>, client: TcpStream) {
    let Ok(server) = TcpStream::connect(state.server) else {
        return;
    };
    let Ok(connection) = Connection::new(client, server) else {
        return;
    };
    let connection = Arc::new(connection);
    if state.enter(&connection) {
        pump::run(state, &connection);
    }
}

//! A process that is killed drops nothing, yet leaves no server behind.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use servers::{Redis, RedisBinary, needed};

/// Set for the process that is going to be killed.
const ROLE: &str = "SERVERS_TEST_IS_GOING_TO_BE_KILLED";

/// Before the server's process id and folder, on a line.
const MARK: &str = "the server is ";

#[test]
fn the_servers_of_a_killed_process_end() {
    if env::var_os(ROLE).is_some() {
        return be_killed();
    }
    if needed(Redis::start(RedisBinary::System)).is_none() || !cfg!(target_os = "linux") {
        return;
    }
    let mut victim = Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_servers_of_a_killed_process_end", "--nocapture"])
        .env(ROLE, "yes")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(victim.stdout.take().unwrap()).lines();
    let (server, folder) = said
        .map_while(Result::ok)
        .find_map(|line| {
            let (pid, folder) = line.split_once(MARK)?.1.split_once(' ')?;
            Some((Pid::from_raw(pid.parse().ok()?)?, PathBuf::from(folder)))
        })
        .unwrap();
    assert!(test_kill_process(server).is_ok());

    victim.kill().unwrap();
    victim.wait().unwrap();

    let deadline = Instant::now() + Duration::from_secs(5);
    while is_alive(server) {
        assert!(Instant::now() < deadline, "the server outlived the process that started it");
        thread::sleep(Duration::from_millis(5));
    }
    // Nobody was left to remove it.
    fs::remove_dir_all(folder).unwrap();
}

fn be_killed() {
    let redis = Redis::start(RedisBinary::System).unwrap();
    println!("{MARK}{} {}", redis.pid().unwrap(), redis.folder().display());
    std::io::stdout().flush().unwrap();
    thread::sleep(Duration::from_mins(1));
}

/// Whether a process runs. One that has ended may stay as a zombie, if nobody waits for it.
fn is_alive(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

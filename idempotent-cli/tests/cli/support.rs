//! Stores with some records, and the program.

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use idempotent_runtime::store::{ClaimAnswer, ClaimRequest, OnLapse, Release, Retention};
use idempotent_runtime::{CodecTag, Encoded, Idempotency, Key, Recorded, Store, Token};
use serde_json::Value;
use servers::{Cluster, Postgres, Redis, RedisBinary};
use tempfile::TempDir;

/// A store of this test, and what keeps it.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    /// Ends with the place.
    _server: Server,
}

#[allow(dead_code, reason = "kept so that they end with the place")]
enum Server {
    Redis(Redis),
    Cluster(Cluster),
    Postgres(Postgres),
    File(TempDir),
}

pub(crate) fn redis() -> Option<Place> {
    let server = servers::needed(Redis::start(RedisBinary::System))?;
    Some(Place { name: "redis", url: server.url(), _server: Server::Redis(server) })
}

pub(crate) fn cluster() -> Option<Place> {
    let server = servers::needed(Cluster::start(RedisBinary::System))?;
    Some(Place { name: "cluster", url: server.url(), _server: Server::Cluster(server) })
}

pub(crate) fn postgres() -> Option<Place> {
    let server = servers::needed(Postgres::start())?;
    Some(Place { name: "postgres", url: server.url(), _server: Server::Postgres(server) })
}

#[expect(clippy::unnecessary_wraps, reason = "as for the others, which may be missing")]
pub(crate) fn sqlite() -> Option<Place> {
    let folder = TempDir::with_prefix("idempotent-cli-").expect("a temporary folder");
    let url = format!("sqlite:{}", folder.path().join("idempotency.db").display());
    Some(Place { name: "sqlite", url, _server: Server::File(folder) })
}

/// One test for each store, of a function that takes a place.
macro_rules! on_every_store {
    ($($name:ident)+) => {
        $(mod $name {
            #[test]
            fn on_redis() {
                $crate::support::redis().iter().for_each(super::$name);
            }

            #[test]
            fn on_a_cluster() {
                $crate::support::cluster().iter().for_each(super::$name);
            }

            #[test]
            fn on_postgres() {
                $crate::support::postgres().iter().for_each(super::$name);
            }

            #[test]
            fn on_sqlite() {
                $crate::support::sqlite().iter().for_each(super::$name);
            }
        })+
    };
}
pub(crate) use on_every_store;

/// What the program came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        let code = output.status.code().expect("the program ends by itself");
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }

    /// What it wrote for a program.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The same, a line each.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        assert_eq!(self.code, 0, "{self:?}");
        self.out.lines().map(|line| serde_json::from_str(line).expect("JSON, a line each")).collect()
    }

    #[track_caller]
    pub(crate) fn ends_with(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// Runs the program without a store, without a terminal, and with nothing on its standard input.
pub(crate) fn idempotent<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    Ran::of(command(arguments).stdin(Stdio::null()).output().expect("the program starts"))
}

pub(crate) fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idempotent"));
    for name in ["IDEMPOTENT_URL", "IDEMPOTENT_NAMESPACE", "IDEMPOTENT_WHO", "IDEMPOTENT_SECRET", "NO_COLOR"] {
        command.env_remove(name);
    }
    command.env("USER", "ada").args(arguments);
    command
}

impl Place {
    /// Runs the program on this store, which it is told by the environment.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(command(arguments).env("IDEMPOTENT_URL", &self.url).stdin(Stdio::null()).output().expect("it starts"))
    }

    /// The same, with words on its standard input.
    pub(crate) fn run_and_say(&self, arguments: &[&str], say: &str) -> Ran {
        let mut command = command(arguments);
        command.env("IDEMPOTENT_URL", &self.url).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        // It may have ended without listening.
        let _ = child.stdin.take().expect("it was asked for").write_all(say.as_bytes());
        Ran::of(child.wait_with_output().expect("it ends"))
    }

    /// Fills the store: four records of `order:consume` in four states, one of `orders`, one step of an entity.
    pub(crate) fn fill(&self) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.expect("a runtime starts").block_on(async {
            let idempotency = Idempotency::connect(&self.url).await.expect("the store was made for this");
            let store = idempotency.store();
            for (key, end) in [
                ("order:consume:live", End::Live),
                ("order:consume:stuck", End::GivenUp),
                ("order:consume:failed", End::Failed),
                ("order:consume:done", End::Completed),
                ("orders:consume:1", End::Completed),
                ("order:init:7[init_token]", End::Completed),
            ] {
                end.reach(&**store, &Key::from_text(key)).await;
            }
        });
    }

    /// The state of a record, or the exit code where there is none to say.
    pub(crate) fn state(&self, key: &str) -> Result<String, i32> {
        let ran = self.run(["inspect", "--json", key]);
        if ran.code != 0 {
            return Err(ran.code);
        }
        Ok(ran.json()["state"].as_str().expect("a state").to_owned())
    }
}

/// How a record's run ends.
#[derive(Clone, Copy)]
enum End {
    Live,
    GivenUp,
    Failed,
    Completed,
}

impl End {
    async fn reach(self, store: &dyn Store, key: &Key) {
        let kept = Retention::For(Duration::from_hours(1));
        let lease = Duration::from_mins(10);
        let token = Token::random();
        let request = ClaimRequest {
            token,
            owner: "kitchen-1:71",
            fingerprint: None,
            lease,
            retention: kept,
            held: kept,
            on_lapse: OnLapse::Hold,
            max_attempts: None,
            supersede: None,
            begun: true,
            fenced: false,
        };
        let claimed = store.claim(key, &request).await.expect("the store answers");
        assert!(matches!(claimed, ClaimAnswer::Acquired(_)), "{claimed:?}");
        match self {
            Self::Live => {}
            Self::GivenUp => _ = store.release(key, token, Release::GivenUp, lease).await.expect("it answers"),
            Self::Failed => {
                _ = store.release(key, token, Release::Failed("burnt\u{1b}[31m"), lease).await.expect("it answers");
            }
            Self::Completed => {
                let bytes = br#"{"receipt":7}"#.as_slice().into();
                let result = Recorded::Value(Encoded { codec: CodecTag::JSON, bytes });
                _ = store.complete(key, token, &result, kept).await.expect("it answers");
            }
        }
    }
}

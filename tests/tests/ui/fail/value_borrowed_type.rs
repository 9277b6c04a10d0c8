use idempotent_runtime::{Error, idempotent};

#[derive(serde::Serialize, serde::Deserialize)]
struct Name<'a>(&'a str);

#[idempotent(prefix = "order", keys = [name], ttl = 1h)]
async fn handler(name: &str) -> Result<Name<'_>, Error> {
    Ok(Name(name))
}

fn main() {}

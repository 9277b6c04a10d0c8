//! Handlers of another module: some of which should not be as they are.

use idempotent_runtime::{Error, idempotent};

pub(crate) const MODULE: &str = module_path!();
pub(crate) const FILE: &str = file!();

/// Nobody calls this, or what is in it.
#[allow(dead_code)]
fn outer() {
    #[idempotent(prefix = "registry:inner", keys = [id], ttl = 1h)]
    async fn inner(id: u64) -> Result<u64, Error> {
        Ok(id)
    }
}

macro_rules! handler {
    ($name:ident) => {
        #[allow(dead_code)]
        #[idempotent(prefix = "registry:macro", keys = [id], ttl = 1h)]
        async fn $name(id: u64) -> Result<u64, Error> {
            Ok(id)
        }
    };
}

/// The line of the macro's call.
pub(crate) const BY_MACRO: u32 = line!() + 1;
handler!(by_macro);

mod first {
    use super::{Error, idempotent};

    pub(crate) const LINE: u32 = line!() + 2;
    #[allow(dead_code)]
    #[idempotent(prefix = "registry:shared", keys = [id], ttl = 1h)]
    async fn handle(id: u64) -> Result<u64, Error> {
        Ok(id)
    }

    #[allow(dead_code)]
    #[idempotent(prefix = "registry:mixed", keys = [id], ttl = 1h)]
    async fn whole(id: u64) -> Result<u64, Error> {
        Ok(id)
    }
}

mod second {
    use super::{Error, idempotent};

    pub(crate) const LINE: u32 = line!() + 2;
    #[allow(dead_code)]
    #[idempotent(prefix = "registry:shared", keys = [name], ttl = 1h)]
    async fn handle(name: &str) -> Result<u64, Error> {
        Ok(name.len() as u64)
    }

    #[allow(dead_code)]
    #[idempotent(prefix = "registry:mixed", step = "first", keys = [id], ttl = 1h)]
    async fn step(id: u64) -> Result<u64, Error> {
        Ok(id)
    }
}

pub(crate) const FIRST: u32 = first::LINE;
pub(crate) const SECOND: u32 = second::LINE;

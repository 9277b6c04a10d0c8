//! Generics, lifetimes, `impl Trait`, and patterns in arguments.

use idempotent_runtime::{Error, idempotent};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Order, OrderError, order, ran, runs_once};

#[idempotent(prefix = "generic", keys = [id.to_string(), N.min(id.into())], ttl = 1h)]
pub(crate) async fn generic<'a, T, const N: u64>(id: u32, values: &'a [T]) -> Result<Vec<T>, OrderError>
where
    T: Serialize + DeserializeOwned + Clone + 'a,
{
    ran().await;
    Ok(values.to_vec())
}

#[idempotent(prefix = "impl-trait", keys = [name.as_ref()], ttl = 1h)]
async fn impl_trait_argument(name: impl AsRef<str> + Clone, twice: impl Fn(usize) -> usize) -> Result<usize, Error> {
    ran().await;
    Ok(twice(name.as_ref().len()))
}

#[idempotent(prefix = "patterns", keys = [id, first], ttl = 1h)]
async fn patterns(
    Order { id, mut lines }: Order,
    (first, _): (u8, u8),
    [.., last]: [u32; 3],
) -> Result<Vec<u32>, Error> {
    ran().await;
    lines.push(last);
    lines.push(u32::from(first));
    lines.push(u32::try_from(id).unwrap_or_default());
    Ok(lines)
}

#[tokio::test]
async fn generics_lifetimes_impl_trait_and_patterns() {
    assert_eq!(runs_once(|| async { generic::<_, 9>(7, &["a".to_owned()]).await }).await, ["a"]);
    assert_eq!(runs_once(|| impl_trait_argument("four", |n| 2 * n)).await, 8);
    assert_eq!(runs_once(|| patterns(order(), (1, 2), [3, 4, 5])).await, [5, 1, 7]);
}

//! The permissions that the guide names: they are enough, and none is too many.

use idempotent_runtime::admin::Admin as _;
use idempotent_runtime::store::{Answer, CompleteAnswer, RedisStore, Release};
use idempotent_runtime::{Key, Store as _, Token};
use servers::{Cluster, Redis, RedisBinary};

use crate::support::{FIRST, LEASE, builder, claim, complete, redis, renew, request, within_bound};

/// `ACL SETUSER shop …` as the guide has it.
fn user() -> Vec<&'static str> {
    let guide = include_str!("../../../idempotent-runtime/src/guide/redis.md");
    let (_, rest) = guide.split_once("\nACL SETUSER shop").expect("the guide names the user");
    let (rules, _) = rest.split_once("```").expect("the block ends");
    ["ACL", "SETUSER", "shop"].into_iter().chain(rules.split_whitespace()).collect()
}

fn allow(server: &Redis, without: Option<&str>) {
    server.cli(&["ACL", "SETUSER", "shop", "reset"]).expect("the user is set");
    let user: Vec<_> = user().into_iter().filter(|rule| Some(*rule) != without).collect();
    server.cli(&user).expect("the user is set");
}

/// Every operation, once.
async fn everything(store: &RedisStore) -> Result<(), Box<dyn std::error::Error>> {
    let key = || Key::from_text(&format!("shop:order:{}", Token::random()));
    let (done, failed, gone, token) = (key(), key(), key(), Token::random());
    for key in [&done, &failed, &gone] {
        assert_eq!(claim(store, key, token).await?, FIRST);
        assert_eq!(store.begin(key, token).await?, Answer::Held);
        assert_eq!(renew(store, key, token).await?, Answer::Held);
    }
    assert_eq!(complete(store, &done, token).await?, CompleteAnswer::Held);
    assert_eq!(store.release(&failed, token, Release::Failed("why"), LEASE).await?, Answer::Held);
    assert_eq!(store.put_back(&gone, token, LEASE, None).await?, Answer::Held);
    let mut fenced = request(Token::random());
    fenced.fenced = true;
    store.claim(&key(), &fenced).await?;
    store.inspect(&done).await?.expect("it is there");
    store.check().await?;
    Ok(())
}

#[tokio::test]
async fn the_permissions_of_the_guide_are_enough_on_one_server() {
    let Some(server) = redis() else { return };
    allow(&server, None);
    let url = server.url().replace("redis://", "redis://shop:secret@");
    let store = within_bound(builder().connect(&url)).await.expect("it may");
    everything(&store).await.expect("it may do everything");

    // Each of them is needed, but for those of a Cluster.
    let cluster = ["+cluster|slots", "+cluster|info", "+asking", "+select"];
    for permission in user().into_iter().filter(|rule| rule.starts_with('+') && !cluster.contains(rule)) {
        allow(&server, Some(permission));
        let fails = match within_bound(builder().connect(&url)).await {
            Ok(store) => everything(&store).await.is_err(),
            Err(_) => true,
        };
        assert!(fails, "{permission} is not needed");
    }
}

#[tokio::test]
async fn the_permissions_of_the_guide_are_enough_in_a_cluster() {
    let Some(cluster) = servers::needed(Cluster::start(RedisBinary::System)) else { return };
    let url = cluster.url().replace("redis+cluster://", "redis+cluster://shop:secret@");
    for permission in [None, Some("+cluster|slots"), Some("+cluster|info")] {
        cluster.nodes().iter().for_each(|node| allow(node, permission));
        let ended = match within_bound(builder().connect(&url)).await {
            Ok(store) => everything(&store).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match permission {
            None => ended.expect("it may do everything"),
            Some(missing) => assert!(ended.expect_err(missing).contains("no permissions"), "{missing}"),
        }
    }
}

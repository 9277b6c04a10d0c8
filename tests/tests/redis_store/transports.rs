//! Ways to a server: Unix sockets, logins and databases.

use idempotent_runtime::{Idempotency, Token};
use servers::{Redis, RedisBinary};

use crate::support::{FIRST, at_last, builder, claim, key, redis, refused, text, unavailable, within_bound};

#[tokio::test]
async fn a_unix_socket_is_as_good_as_tcp() {
    let server = Redis::builder(RedisBinary::System).args(["--unixsocket", "redis.sock"]).start();
    let Some(server) = servers::needed(server) else { return };
    let socket = server.folder().join("redis.sock");
    server.cli(&["ACL", "SETUSER", "shop", "on", ">s@cret", "~*", "+@all"]).expect("the user is set");
    for scheme in ["redis+unix", "unix"] {
        let url = format!("{scheme}://{}?db=3&user=shop&pass=s%40cret", socket.display());
        let (store, key) = (within_bound(builder().connect(&url)).await.expect("it listens"), key());
        assert_eq!(claim(&store, &key, Token::random()).await.expect("an answer"), FIRST);
        server.cli(&["SWAPDB", "0", "3"]).expect("the server answers");
        assert!(text(&server, &key).is_some(), "the record is in database 3");
        server.cli(&["SWAPDB", "0", "3"]).expect("the server answers");
        let shown = format!("{store:?}");
        assert!(shown.contains("redis.sock") && !shown.contains("s@cret"), "{shown}");
    }
    // A restart makes the socket anew.
    let store = within_bound(builder().connect(&format!("unix://{}", socket.display()))).await.expect("it listens");
    server.restart().expect("the server starts again");
    assert_eq!(at_last(async || claim(&store, &key(), Token::random()).await).await, FIRST);
    let error = unavailable(within_bound(builder().connect("redis+unix:///nowhere/redis.sock")).await).to_string();
    assert!(error.contains("cannot connect to /nowhere/redis.sock"), "{error}");
}

#[tokio::test]
async fn a_handle_takes_every_way_by_its_url() {
    let server = Redis::builder(RedisBinary::System).args(["--unixsocket", "redis.sock"]).start();
    let Some(server) = servers::needed(server) else { return };
    let socket = server.folder().join("redis.sock");
    for url in
        [server.url(), server.url().replace("redis://", "valkey://"), format!("redis+unix://{}", socket.display())]
    {
        Idempotency::connect(&url).await.expect(&url);
    }
}

#[tokio::test]
async fn the_database_and_the_user_of_the_url_are_used() {
    let Some(server) = redis() else { return };
    server.cli(&["ACL", "SETUSER", "shop", "on", ">right", "~shop:*", "+@all"]).expect("the user is set");
    let url = format!("redis://shop:right@127.0.0.1:{}/5", server.port());
    let (store, key) = (within_bound(builder().connect(&url)).await.expect("it listens"), key());
    assert_eq!(claim(&store, &key, Token::random()).await.expect("an answer"), FIRST);
    assert_eq!(text(&server, &key), None, "not in database 0");
    let clients = server.cli(&["CLIENT", "LIST"]).expect("the server answers").to_string();
    assert!(clients.lines().any(|client| client.contains("user=shop") && client.contains(" db=5 ")), "{clients}");
    let error = refused(within_bound(builder().connect(&url.replace("/5", "/99"))).await);
    assert!(error.to_string().contains("DB index is out of range"), "{error}");
}

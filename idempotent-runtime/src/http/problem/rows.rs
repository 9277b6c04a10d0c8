//! What each problem is called, answered with, and said to be.

use ::http::StatusCode;

/// One problem's name, status and texts.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) status: StatusCode,
    pub(super) title: &'static str,
    pub(super) detail: &'static str,
}

/// The problems, in the order of their variants.
pub(super) const ROWS: [Row; 17] = [
    Row {
        name: "key-missing",
        status: StatusCode::BAD_REQUEST,
        title: "Idempotency-Key is missing",
        detail: "This operation needs an idempotency key. Send one, and the same one with every retry.",
    },
    Row {
        name: "key-invalid",
        status: StatusCode::BAD_REQUEST,
        title: "Idempotency-Key is not valid",
        detail: "The idempotency key cannot be used. Nothing was run.",
    },
    Row {
        name: "key-part-missing",
        status: StatusCode::BAD_REQUEST,
        title: "A value that names the operation is missing",
        detail: "This operation is named by a value of the request that is missing or empty. Nothing was run.",
    },
    Row {
        name: "key-reused",
        status: StatusCode::UNPROCESSABLE_ENTITY,
        title: "Idempotency-Key is already used",
        detail: "Another request was sent with this idempotency key. Send that one again, or use a new key.",
    },
    Row {
        name: "in-flight",
        status: StatusCode::CONFLICT,
        title: "A request is outstanding for this Idempotency-Key",
        detail: "The first request with this idempotency key is being processed. Send it again later.",
    },
    Row {
        name: "scope-missing",
        status: StatusCode::FORBIDDEN,
        title: "The request belongs to nobody",
        detail: "Idempotency keys belong to a client, and this request does not say to which. Nothing was run.",
    },
    Row {
        name: "body-too-large",
        status: StatusCode::PAYLOAD_TOO_LARGE,
        title: "The body is too large",
        detail: "The body is larger than this operation takes. Nothing was run.",
    },
    Row {
        name: "body-unreadable",
        status: StatusCode::BAD_REQUEST,
        title: "The body could not be read",
        detail: "The body did not arrive whole. Nothing was run.",
    },
    Row {
        name: "response-not-stored",
        status: StatusCode::GONE,
        title: "The response cannot be given again",
        detail: "The request was processed, and its response was not stored. Look its result up; do not send it under a new key.",
    },
    Row {
        name: "outcome-unknown",
        status: StatusCode::INTERNAL_SERVER_ERROR,
        title: "What the request did is not known",
        detail: "An earlier attempt stopped half way. Somebody has to find out what it did; until then nothing is run under this key.",
    },
    Row {
        name: "attempts-exhausted",
        status: StatusCode::INTERNAL_SERVER_ERROR,
        title: "The request has failed too often",
        detail: "Every allowed attempt has started and none was completed.",
    },
    Row {
        name: "failed",
        status: StatusCode::INTERNAL_SERVER_ERROR,
        title: "The action failed for good",
        detail: "The first request with this idempotency key failed, and will not be tried again.",
    },
    Row {
        name: "record-unreadable",
        status: StatusCode::INTERNAL_SERVER_ERROR,
        title: "The stored response cannot be read",
        detail: "What is stored under this idempotency key cannot be read. Nothing was run.",
    },
    Row {
        name: "store-unavailable",
        status: StatusCode::SERVICE_UNAVAILABLE,
        title: "Idempotency keys cannot be checked",
        detail: "Nothing was run. Send the request again later, with the same key.",
    },
    Row {
        name: "overloaded",
        status: StatusCode::SERVICE_UNAVAILABLE,
        title: "Too many requests at one time",
        detail: "Nothing was run. Send the request again later, with the same key.",
    },
    Row {
        name: "timed-out",
        status: StatusCode::SERVICE_UNAVAILABLE,
        title: "Processing took too long",
        detail: "The request was stopped. Send it again later, with the same key, to learn what became of it.",
    },
    Row {
        name: "misconfigured",
        status: StatusCode::INTERNAL_SERVER_ERROR,
        title: "The server is not set up for idempotency keys",
        detail: "Nothing was run.",
    },
];
